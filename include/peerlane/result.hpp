#pragma once
/// Errors are values. `Result<T>` holds a T or an Error; `.value()` throws for those who like exceptions.

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace peerlane {

/// What a caller can do about an error; each kind has one exit code of the command.
enum class ErrorKind {
  invalid_argument,  ///< the request makes no sense: an unknown place, a size that overflows, overlapping regions
  not_found,         ///< a file, a machine or a GPU that does not exist
  unavailable,       ///< this machine cannot do it: no driver, no road, or only a fallback under `strict`
  no_memory,         ///< device, pinned or pageable memory ran out
  io,                ///< the file system refused: permission, full disk, a read error
  data_mismatch,     ///< bytes arrived, and they are the wrong ones
  timeout,           ///< a deadline passed
  cancelled,         ///< the caller cancelled
  device_lost,       ///< a GPU or its context is gone, and with it everything that ran there
  driver,            ///< the CUDA driver refused a call for another reason
};

std::string_view to_string(ErrorKind kind);

/// 0 ok, 1 failed, 2 usage, 3 data mismatch, 4 below a threshold, 5 timeout, 6 device lost, 7 not available here.
int exit_code(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::driver;
  std::string what;   ///< one sentence: what was asked, what was expected, what came instead
  std::string where;  ///< the place, file, field or call it happened at; may be empty
  std::string hint;   ///< what to do about it; may be empty
  int code = 0;       ///< the foreign code (CUresult, errno), 0 when there is none

  /// "where: what (hint)", ready to be printed.
  std::string message() const;
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string what, std::string where = {}, std::string hint = {},
                                  int code = 0) {
  return tl::unexpected(Error{kind, std::move(what), std::move(where), std::move(hint), code});
}

}  // namespace peerlane

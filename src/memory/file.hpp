#pragma once
/// A file as an end of a copy.

#include <memory>
#include <string>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

/// Open for reading, or a target that stands under its name only once it is committed.
class File {
 public:
  /// Regular files only: a FIFO, a directory or a device is refused without blocking on it.
  static Result<std::unique_ptr<File>> open_source(const std::string& path);
  /// Room for `bytes` is claimed at once (a full disk is found out now), under no name where the file system can
  /// (O_TMPFILE), else under a hidden one beside the target, unlinked unless committed.
  static Result<std::unique_ptr<File>> open_target(const std::string& path, Bytes bytes);
  ~File();

  /// Gives the file its name, replacing what stood there. `durable`: fdatasync of file and directory first.
  Result<void> commit(bool durable = false);
  Result<void> sync();

  /// Whole or an error that names the file and the offset; resumes after short reads and EINTR.
  /// Uses O_DIRECT where the file system takes it and buffer, offset and size are aligned to 4 KiB.
  Result<void> read(void* to, Bytes bytes, Bytes offset);
  Result<void> write(const void* from, Bytes bytes, Bytes offset);

  const std::string& path() const { return path_; }
  Bytes size() const { return size_; }
  bool direct() const { return direct_fd_ >= 0; }
  bool is_target() const { return target_; }

 private:
  File() = default;
  std::string path_;
  std::string temporary_;  ///< hidden name; empty under O_TMPFILE
  int fd_ = -1;
  int direct_fd_ = -1;  ///< the same file opened with O_DIRECT, -1 where refused
  Bytes size_ = 0;
  bool target_ = false;
  bool committed_ = false;
};

}  // namespace peerlane

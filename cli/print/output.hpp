#pragma once
/// The two streams of the command. Answers go to stdout, all of them through `write_out`; all else goes to stderr.

#include <string>
#include <string_view>

#include "peerlane/result.hpp"

namespace peerlane::cli {

/// Call first: a standard stream that the caller had closed must not become the number of a file that we open, and a
/// reader that went away is an error to report, not a signal to die of.
void guard_standard_streams();

/// Writes it all, now, or says why not.
Result<void> write_out(std::string_view text);

/// As `write_out`, for one document that has to end with a line's end.
Result<void> write_document(std::string_view text);

/// A whole file under its name, or nothing: what stood there stays until all is written.
Result<void> write_file(const std::string& path, std::string_view text);

void write_error(std::string_view text);

}  // namespace peerlane::cli

#pragma once
/// Errors of the file system, for the parts of File.

#include <string>

#include "peerlane/result.hpp"

namespace peerlane {

/// "… (No such file or directory)". A missing file or directory is `not_found`, everything else `io`.
Error file_error(const std::string& path, const std::string& what, int code);

}  // namespace peerlane

#pragma once
/// From a library's path to a filled table. `load_cuda` is this with the system's driver, once a process.

#include <string>

#include "vendor/cuda.hpp"

namespace peerlane::vendor {

inline constexpr int oldest_cuda_version = 11070;

/// Opens the library, fills the table and calls cuInit. The library stays loaded once cuInit was called.
Result<CudaDriver> open_cuda(const std::string& library_path);

/// "11.7" from 11070.
std::string cuda_version_text(int version);

}  // namespace peerlane::vendor

#pragma once
/// Kernels as C++ functions, under the names and with the arguments of the device code.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "vendor/cuda.hpp"

namespace peerlane::sim {

struct KernelAccess {
  cu::DevicePtr address = 0;
  Bytes bytes = 0;
  bool writes = false;
  bool overwrites = false;  ///< every byte of it, whatever was there
};

/// A launch with its arguments taken, as the driver takes them: at the call.
struct KernelCall {
  std::vector<KernelAccess> accesses;  ///< the first one is the bulk of the bytes, and what the time is made of
  std::function<void(std::span<std::byte* const> memory)> run;  ///< gets one pointer per access
};

struct Kernel {
  std::string_view name;
  KernelCall (*call)(void** parameters);
};

/// Null for a name that nobody registered.
const Kernel* find_kernel(std::string_view name);

}  // namespace peerlane::sim

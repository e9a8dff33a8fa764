#pragma once
/// The driver's calls as numbers, and the host time that each takes.

#include <cstddef>
#include <string_view>

#include "vendor/cuda.hpp"

namespace peerlane::sim {

enum class Call : std::size_t {
#define PEERLANE_ENUMERATOR(name, version, parameters) name,
  PEERLANE_CUDA_CALLS(PEERLANE_ENUMERATOR)
#undef PEERLANE_ENUMERATOR
      count
};

inline constexpr std::string_view call_names[] = {
#define PEERLANE_NAME(name, version, parameters) #name,
    PEERLANE_CUDA_CALLS(PEERLANE_NAME)
#undef PEERLANE_NAME
};

constexpr std::string_view name_of(Call call) {
  return call_names[static_cast<std::size_t>(call)];
}

/// Seconds of the caller's thread. Measured on two H200 (driver 580.159), or of the same order where nobody measured.
constexpr double host_seconds(Call call) {
  switch (call) {
    case Call::cuMemcpyAsync:
    case Call::cuMemcpyHtoDAsync:
    case Call::cuMemcpyDtoHAsync:
    case Call::cuMemcpyDtoDAsync:
    case Call::cuMemsetD8Async:
      return 2.1e-6;
    case Call::cuMemcpyPeerAsync:
      return 2.35e-6;
    case Call::cuLaunchKernel:
      return 4.6e-6;
    case Call::cuEventRecord:
    case Call::cuStreamWaitEvent:
      return 0.32e-6;
    case Call::cuEventQuery:
    case Call::cuStreamQuery:
      return 0.2e-6;
    case Call::cuPointerGetAttribute:
      return 0.11e-6;
    case Call::cuCtxEnablePeerAccess:
    case Call::cuCtxDisablePeerAccess:
      return 10e-3;
    case Call::cuMemAlloc:
    case Call::cuMemFree:
    case Call::cuMemHostAlloc:
    case Call::cuMemFreeHost:
      return 86e-6;
    case Call::cuMemCreate:
    case Call::cuMemRelease:
      return 96e-6;
    case Call::cuMemMap:
    case Call::cuMemUnmap:
      return 39e-6;
    case Call::cuMemSetAccess:
      return 64e-6;
    case Call::cuMemPoolSetAccess:
      return 17e-3;
    case Call::cuMemHostRegister:
    case Call::cuMemHostUnregister:
      return 20e-6;
    case Call::cuDevicePrimaryCtxRetain:
    case Call::cuModuleLoadData:
      return 1e-3;
    case Call::cuStreamCreate:
    case Call::cuStreamDestroy:
      return 5e-6;
    case Call::cuLaunchHostFunc:
    case Call::cuStreamWaitValue32:
    case Call::cuStreamWriteValue32:
    case Call::cuMemAllocFromPoolAsync:
    case Call::cuMemFreeAsync:
    case Call::cuEventCreate:
      return 1e-6;
    default:
      return 0.05e-6;
  }
}

/// On top of its fixed cost: registering pins page by page (1 GiB takes 55 to 75 ms), and every peer that has access
/// makes an allocation dearer (86 µs alone, 184 µs with one peer).
inline constexpr double registered_bytes_per_s = 16.5e9;
inline constexpr double allocation_per_peer_s = 98e-6;

}  // namespace peerlane::sim

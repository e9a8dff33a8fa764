#pragma once
/// The CUDA driver behind one table of functions. On a GPU machine it is filled from libcuda.so.1; elsewhere, and with
/// a simulated machine, from sim/. Nothing else in Peerlane knows where the functions come from.
///
/// The types and constants are our own declarations of the driver's stable ABI, so that no toolkit is needed to build;
/// abi_check.cpp holds them against cuda.h wherever that header is installed.

#include <cstddef>
#include <cstdint>
#include <string>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane::cu {

using DevicePtr = unsigned long long;
using Device = int;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Pool = struct PoolTag*;
using AllocationHandle = unsigned long long;

enum class Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  stub_library = 34,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  map_failed = 205,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  peer_access_unsupported = 217,
  nvlink_uncorrectable = 220,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_timeout = 702,
  peer_access_already_enabled = 704,
  peer_access_not_enabled = 705,
  context_is_destroyed = 709,
  too_many_peers = 711,
  host_memory_already_registered = 712,
  host_memory_not_registered = 713,
  hardware_stack_error = 714,
  launch_failed = 719,
  not_permitted = 800,
  not_supported = 801,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported = 804,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  unknown = 999,
};

enum DeviceAttribute : int {
  attribute_multiprocessor_count = 16,
  attribute_integrated = 18,
  attribute_pci_bus_id = 33,
  attribute_pci_device_id = 34,
  attribute_memory_clock_khz = 36,
  attribute_memory_bus_width_bits = 37,
  attribute_async_engine_count = 40,
  attribute_unified_addressing = 41,
  attribute_pci_domain_id = 50,
  attribute_compute_major = 75,
  attribute_compute_minor = 76,
  attribute_host_native_atomics = 86,
  attribute_host_pointer_for_registered_memory = 91,
  attribute_stream_wait_value = 92,
  attribute_virtual_memory_management = 102,
  attribute_memory_pools = 115,
  attribute_gpu_direct_rdma = 116,
  attribute_dma_buf = 124,
};

enum P2PAttribute : int { p2p_performance_rank = 1, p2p_access = 2, p2p_native_atomics = 3, p2p_arrays = 4 };

enum PointerAttribute : int {
  pointer_context = 1,
  pointer_memory_type = 2,
  pointer_device_pointer = 3,
  pointer_host_pointer = 4,
  pointer_buffer_id = 7,
  pointer_is_managed = 8,
  pointer_device_ordinal = 9,
  pointer_range_start = 11,
  pointer_range_size = 12,
  pointer_mapped = 13,
  pointer_access_flags = 16,
  pointer_pool = 17,
};

enum MemoryType : unsigned { memory_host = 1, memory_device = 2, memory_array = 3, memory_unified = 4 };

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0, event_disable_timing = 2;
inline constexpr unsigned host_alloc_portable = 1, host_register_portable = 1;
inline constexpr unsigned wait_value_geq = 0, wait_value_equal = 1;

enum LocationType : int { location_device = 1, location_host = 2, location_host_numa = 3 };
struct Location {
  int type = location_device;
  int id = 0;
};
enum AccessFlags : int { access_none = 0, access_read = 1, access_read_write = 3 };
struct AccessDescription {
  Location location;
  int flags = access_read_write;
};
struct PoolProperties {  // CUmemPoolProps
  int alloc_type = 1;    // pinned
  int handle_types = 0;
  Location location;
  void* win32_security = nullptr;
  std::size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
struct AllocationProperties {  // CUmemAllocationProp
  int type = 1;                // pinned
  int handle_types = 0;
  Location location;
  void* win32_metadata = nullptr;
  struct {
    unsigned char compression = 0;
    unsigned char gpu_direct_rdma = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
struct Uuid {
  unsigned char bytes[16];
};

using HostFunction = void (*)(void* data);

}  // namespace peerlane::cu

/// Every driver call that Peerlane uses: its name, the version whose form is declared here (asked of
/// cuGetProcAddress), and its parameters.
// clang-format off
#define PEERLANE_CUDA_CALLS(X)                                                                                       \
  X(cuInit, 2000, (unsigned flags))                                                                                  \
  X(cuDriverGetVersion, 2020, (int* version))                                                                        \
  X(cuGetErrorName, 6000, (cu::Status status, const char** name))                                                    \
  X(cuDeviceGetCount, 2000, (int* count))                                                                            \
  X(cuDeviceGet, 2000, (cu::Device* device, int ordinal))                                                            \
  X(cuDeviceGetName, 2000, (char* name, int length, cu::Device device))                                              \
  X(cuDeviceGetUuid, 11040, (cu::Uuid* uuid, cu::Device device))                                                     \
  X(cuDeviceTotalMem, 3020, (std::size_t* bytes, cu::Device device))                                                 \
  X(cuDeviceGetAttribute, 2000, (int* value, cu::DeviceAttribute attribute, cu::Device device))                      \
  X(cuDeviceGetPCIBusId, 4010, (char* id, int length, cu::Device device))                                            \
  X(cuDeviceCanAccessPeer, 4000, (int* can, cu::Device device, cu::Device peer))                                     \
  X(cuDeviceGetP2PAttribute, 8000, (int* value, cu::P2PAttribute attribute, cu::Device from, cu::Device to))         \
  X(cuDevicePrimaryCtxRetain, 7000, (cu::Context* context, cu::Device device))                                       \
  X(cuDevicePrimaryCtxRelease, 11000, (cu::Device device))                                                           \
  X(cuDevicePrimaryCtxGetState, 7000, (cu::Device device, unsigned* flags, int* active))                             \
  X(cuCtxPushCurrent, 4000, (cu::Context context))                                                                   \
  X(cuCtxPopCurrent, 4000, (cu::Context* context))                                                                   \
  X(cuCtxGetCurrent, 4000, (cu::Context* context))                                                                   \
  X(cuCtxSetCurrent, 4000, (cu::Context context))                                                                    \
  X(cuCtxGetDevice, 2000, (cu::Device* device))                                                                      \
  X(cuCtxSynchronize, 2000, ())                                                                                      \
  X(cuCtxEnablePeerAccess, 4000, (cu::Context peer, unsigned flags))                                                 \
  X(cuCtxDisablePeerAccess, 4000, (cu::Context peer))                                                                \
  X(cuMemGetInfo, 3020, (std::size_t* free, std::size_t* total))                                                     \
  X(cuMemAlloc, 3020, (cu::DevicePtr* pointer, std::size_t bytes))                                                   \
  X(cuMemFree, 3020, (cu::DevicePtr pointer))                                                                        \
  X(cuMemGetAddressRange, 3020, (cu::DevicePtr* base, std::size_t* bytes, cu::DevicePtr pointer))                    \
  X(cuMemHostAlloc, 2020, (void** pointer, std::size_t bytes, unsigned flags))                                       \
  X(cuMemFreeHost, 2000, (void* pointer))                                                                            \
  X(cuMemHostRegister, 6050, (void* pointer, std::size_t bytes, unsigned flags))                                     \
  X(cuMemHostUnregister, 4000, (void* pointer))                                                                      \
  X(cuPointerGetAttribute, 4000, (void* value, cu::PointerAttribute attribute, cu::DevicePtr pointer))               \
  X(cuMemcpyAsync, 4000, (cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream))               \
  X(cuMemcpyHtoDAsync, 3020, (cu::DevicePtr to, const void* from, std::size_t bytes, cu::Stream stream))             \
  X(cuMemcpyDtoHAsync, 3020, (void* to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream))                   \
  X(cuMemcpyDtoDAsync, 3020, (cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream))           \
  X(cuMemcpyPeerAsync, 4000, (cu::DevicePtr to, cu::Context to_context, cu::DevicePtr from, cu::Context from_context, std::size_t bytes, cu::Stream stream)) \
  X(cuMemsetD8Async, 3020, (cu::DevicePtr to, unsigned char value, std::size_t count, cu::Stream stream))            \
  X(cuStreamCreate, 2000, (cu::Stream* stream, unsigned flags))                                                      \
  X(cuStreamDestroy, 4000, (cu::Stream stream))                                                                      \
  X(cuStreamSynchronize, 2000, (cu::Stream stream))                                                                  \
  X(cuStreamQuery, 2000, (cu::Stream stream))                                                                        \
  X(cuStreamWaitEvent, 3020, (cu::Stream stream, cu::Event event, unsigned flags))                                   \
  X(cuStreamGetCtx, 9020, (cu::Stream stream, cu::Context* context))                                                 \
  X(cuStreamIsCapturing, 10000, (cu::Stream stream, int* capturing))                                                 \
  X(cuStreamWaitValue32, 11070, (cu::Stream stream, cu::DevicePtr address, std::uint32_t value, unsigned flags))      \
  X(cuStreamWriteValue32, 11070, (cu::Stream stream, cu::DevicePtr address, std::uint32_t value, unsigned flags))     \
  X(cuLaunchHostFunc, 10000, (cu::Stream stream, cu::HostFunction function, void* data))                             \
  X(cuEventCreate, 2000, (cu::Event* event, unsigned flags))                                                         \
  X(cuEventDestroy, 4000, (cu::Event event))                                                                         \
  X(cuEventRecord, 2000, (cu::Event event, cu::Stream stream))                                                       \
  X(cuEventQuery, 2000, (cu::Event event))                                                                           \
  X(cuEventSynchronize, 2000, (cu::Event event))                                                                     \
  X(cuEventElapsedTime, 2000, (float* milliseconds, cu::Event start, cu::Event end))                                 \
  X(cuModuleLoadData, 2000, (cu::Module* module, const void* image))                                                 \
  X(cuModuleUnload, 2000, (cu::Module module))                                                                       \
  X(cuModuleGetFunction, 2000, (cu::Function* function, cu::Module module, const char* name))                        \
  X(cuLaunchKernel, 4000, (cu::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, cu::Stream stream, void** parameters, void** extra)) \
  X(cuDeviceGetDefaultMemPool, 11020, (cu::Pool* pool, cu::Device device))                                           \
  X(cuMemPoolCreate, 11020, (cu::Pool* pool, const cu::PoolProperties* properties))                                  \
  X(cuMemPoolDestroy, 11020, (cu::Pool pool))                                                                        \
  X(cuMemPoolSetAccess, 11020, (cu::Pool pool, const cu::AccessDescription* access, std::size_t count))              \
  X(cuMemPoolGetAccess, 11020, (int* flags, cu::Pool pool, cu::Location* location))                                  \
  X(cuMemAllocFromPoolAsync, 11020, (cu::DevicePtr* pointer, std::size_t bytes, cu::Pool pool, cu::Stream stream))   \
  X(cuMemFreeAsync, 11020, (cu::DevicePtr pointer, cu::Stream stream))                                               \
  X(cuMemGetAllocationGranularity, 10020, (std::size_t* bytes, const cu::AllocationProperties* properties, int option)) \
  X(cuMemAddressReserve, 10020, (cu::DevicePtr* pointer, std::size_t bytes, std::size_t alignment, cu::DevicePtr hint, unsigned long long flags)) \
  X(cuMemAddressFree, 10020, (cu::DevicePtr pointer, std::size_t bytes))                                             \
  X(cuMemCreate, 10020, (cu::AllocationHandle* handle, std::size_t bytes, const cu::AllocationProperties* properties, unsigned long long flags)) \
  X(cuMemRelease, 10020, (cu::AllocationHandle handle))                                                              \
  X(cuMemMap, 10020, (cu::DevicePtr pointer, std::size_t bytes, std::size_t offset, cu::AllocationHandle handle, unsigned long long flags)) \
  X(cuMemUnmap, 10020, (cu::DevicePtr pointer, std::size_t bytes))                                                   \
  X(cuMemSetAccess, 10020, (cu::DevicePtr pointer, std::size_t bytes, const cu::AccessDescription* access, std::size_t count)) \
  X(cuMemGetAccess, 10020, (unsigned long long* flags, const cu::Location* location, cu::DevicePtr pointer))
// clang-format on

namespace peerlane::vendor {

/// One per driver: the real one (a process has one), or one of the simulated machines.
struct CudaDriver {
#define PEERLANE_FIELD(name, version, parameters) cu::Status(*name) parameters = nullptr;
  PEERLANE_CUDA_CALLS(PEERLANE_FIELD)
#undef PEERLANE_FIELD

  /// Pageable host memory on a NUMA node (-1: any), page-aligned, not yet pinned. Null when there is no such memory or
  /// no such node. Where a sandbox forbids binding, the pages fall where the kernel puts them.
  void* (*host_pages)(Bytes bytes, int node) = nullptr;
  void (*free_host_pages)(void* pages, Bytes bytes) = nullptr;

  bool simulated = false;
  std::string loaded_from;  ///< path of the library, or "simulated dgx-h100"
  int version = 0;          ///< cuDriverGetVersion
};

/// Loads libcuda.so.1 and calls cuInit, once a process. `unavailable` says what is missing: the library, a symbol, a
/// version (11.7 is the oldest that is taken), or the error of cuInit.
Result<const CudaDriver*> load_cuda();

/// "CUDA_ERROR_OUT_OF_MEMORY (2)".
std::string status_name(const CudaDriver& driver, cu::Status status);

/// The error of a driver call. Its kind says what the caller can do: no_memory, device_lost for errors that end a
/// context (700, 702, 709, 714, 719) or a GPU (46, 214, 220, 999), unavailable for what this machine cannot do (100,
/// 217, 801, 802, 803), driver for the rest.
Error driver_error(const CudaDriver& driver, cu::Status status, std::string_view call, std::string where);

inline Result<void> check(const CudaDriver& driver, cu::Status status, std::string_view call, std::string_view where) {
  if (status == cu::Status::success) [[likely]]
    return {};
  return tl::unexpected(driver_error(driver, status, call, std::string(where)));
}

/// Makes a context current for a scope and puts the caller's back.
class ContextScope {
 public:
  ContextScope(const CudaDriver& driver, cu::Context context) : driver_(driver) {
    status_ = driver.cuCtxPushCurrent(context);
  }
  ~ContextScope() {
    cu::Context popped;
    if (status_ == cu::Status::success) driver_.cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  cu::Status status() const { return status_; }

 private:
  const CudaDriver& driver_;
  cu::Status status_;
};

}  // namespace peerlane::vendor

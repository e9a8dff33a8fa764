/// Holds our declarations of the driver's ABI against cuda.h, wherever that is installed. Nothing here runs.

#if __has_include(<cuda.h>) && __has_include(<cudaTypedefs.h>)

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>

#include "vendor/abi_same.hpp"
#include "vendor/cuda.hpp"

#if CUDA_VERSION >= 11070  // older headers lack forms that the table asks for

namespace peerlane::vendor {
namespace {

SAME(cu::Status::success, CUDA_SUCCESS);
SAME(cu::Status::invalid_value, CUDA_ERROR_INVALID_VALUE);
SAME(cu::Status::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(cu::Status::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(cu::Status::deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(cu::Status::stub_library, CUDA_ERROR_STUB_LIBRARY);
SAME(cu::Status::device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(cu::Status::no_device, CUDA_ERROR_NO_DEVICE);
SAME(cu::Status::invalid_device, CUDA_ERROR_INVALID_DEVICE);
SAME(cu::Status::invalid_image, CUDA_ERROR_INVALID_IMAGE);
SAME(cu::Status::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
SAME(cu::Status::map_failed, CUDA_ERROR_MAP_FAILED);
SAME(cu::Status::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(cu::Status::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(cu::Status::peer_access_unsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME(cu::Status::nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(cu::Status::invalid_handle, CUDA_ERROR_INVALID_HANDLE);
SAME(cu::Status::illegal_state, CUDA_ERROR_ILLEGAL_STATE);
SAME(cu::Status::not_found, CUDA_ERROR_NOT_FOUND);
SAME(cu::Status::not_ready, CUDA_ERROR_NOT_READY);
SAME(cu::Status::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(cu::Status::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(cu::Status::peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(cu::Status::peer_access_not_enabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
SAME(cu::Status::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(cu::Status::too_many_peers, CUDA_ERROR_TOO_MANY_PEERS);
SAME(cu::Status::host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(cu::Status::host_memory_not_registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(cu::Status::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(cu::Status::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
SAME(cu::Status::not_permitted, CUDA_ERROR_NOT_PERMITTED);
SAME(cu::Status::not_supported, CUDA_ERROR_NOT_SUPPORTED);
SAME(cu::Status::system_not_ready, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(cu::Status::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(cu::Status::compat_not_supported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(cu::Status::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(cu::Status::stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(cu::Status::unknown, CUDA_ERROR_UNKNOWN);

SAME(cu::attribute_multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(cu::attribute_integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(cu::attribute_pci_bus_id, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(cu::attribute_pci_device_id, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(cu::attribute_memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(cu::attribute_memory_bus_width_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(cu::attribute_async_engine_count, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(cu::attribute_unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(cu::attribute_pci_domain_id, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(cu::attribute_compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(cu::attribute_compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(cu::attribute_host_native_atomics, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
SAME(cu::attribute_host_pointer_for_registered_memory, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
SAME(cu::attribute_stream_wait_value, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1);
SAME(cu::attribute_virtual_memory_management, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(cu::attribute_memory_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(cu::attribute_gpu_direct_rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
SAME(cu::attribute_dma_buf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);

SAME(cu::p2p_performance_rank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
SAME(cu::p2p_access, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
SAME(cu::p2p_native_atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
SAME(cu::p2p_arrays, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED);

SAME(cu::pointer_context, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(cu::pointer_memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(cu::pointer_device_pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME(cu::pointer_host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME(cu::pointer_buffer_id, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME(cu::pointer_is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(cu::pointer_device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(cu::pointer_range_start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(cu::pointer_range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(cu::pointer_mapped, CU_POINTER_ATTRIBUTE_MAPPED);
SAME(cu::pointer_access_flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS);
SAME(cu::pointer_pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);

SAME(cu::memory_host, CU_MEMORYTYPE_HOST);
SAME(cu::memory_device, CU_MEMORYTYPE_DEVICE);
SAME(cu::memory_array, CU_MEMORYTYPE_ARRAY);
SAME(cu::memory_unified, CU_MEMORYTYPE_UNIFIED);
SAME(cu::stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME(cu::event_default, CU_EVENT_DEFAULT);
SAME(cu::event_disable_timing, CU_EVENT_DISABLE_TIMING);
SAME(cu::host_alloc_portable, CU_MEMHOSTALLOC_PORTABLE);
SAME(cu::host_register_portable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(cu::wait_value_geq, CU_STREAM_WAIT_VALUE_GEQ);
SAME(cu::wait_value_equal, CU_STREAM_WAIT_VALUE_EQ);
SAME(cu::location_device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(cu::access_none, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME(cu::access_read, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME(cu::access_read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(cu::PoolProperties{}.alloc_type, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(cu::AllocationProperties{}.type, CU_MEM_ALLOCATION_TYPE_PINNED);
#if CUDA_VERSION >= 12020  // the first header that has host locations
SAME(cu::location_host, CU_MEM_LOCATION_TYPE_HOST);
SAME(cu::location_host_numa, CU_MEM_LOCATION_TYPE_HOST_NUMA);
#endif

SAME_LAYOUT(cu::Location, CUmemLocation);
SAME_FIELD(cu::Location, type, CUmemLocation, type);
SAME_FIELD(cu::Location, id, CUmemLocation, id);

SAME_LAYOUT(cu::AccessDescription, CUmemAccessDesc);
SAME_FIELD(cu::AccessDescription, location, CUmemAccessDesc, location);
SAME_FIELD(cu::AccessDescription, flags, CUmemAccessDesc, flags);

SAME_LAYOUT(cu::PoolProperties, CUmemPoolProps);
SAME_FIELD(cu::PoolProperties, alloc_type, CUmemPoolProps, allocType);
SAME_FIELD(cu::PoolProperties, handle_types, CUmemPoolProps, handleTypes);
SAME_FIELD(cu::PoolProperties, location, CUmemPoolProps, location);
SAME_FIELD(cu::PoolProperties, win32_security, CUmemPoolProps, win32SecurityAttributes);
#if CUDA_VERSION >= 12030  // before, both fields were reserved bytes
SAME_FIELD(cu::PoolProperties, max_size, CUmemPoolProps, maxSize);
#endif
#if CUDA_VERSION >= 12060
SAME_FIELD(cu::PoolProperties, usage, CUmemPoolProps, usage);
#endif

SAME_LAYOUT(cu::AllocationProperties, CUmemAllocationProp);
SAME_FIELD(cu::AllocationProperties, type, CUmemAllocationProp, type);
SAME_FIELD(cu::AllocationProperties, handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(cu::AllocationProperties, location, CUmemAllocationProp, location);
SAME_FIELD(cu::AllocationProperties, win32_metadata, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(cu::AllocationProperties, flags, CUmemAllocationProp, allocFlags);
SAME_FIELD(cu::AllocationProperties, flags.compression, CUmemAllocationProp, allocFlags.compressionType);
SAME_FIELD(cu::AllocationProperties, flags.gpu_direct_rdma, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
SAME_FIELD(cu::AllocationProperties, flags.usage, CUmemAllocationProp, allocFlags.usage);

SAME_LAYOUT(cu::Uuid, CUuuid);

#define PEERLANE_SAME_CALL(name, version, parameters) \
  static_assert(SameCall<decltype(CudaDriver::name), PFN_##name##_v##version>::value, #name);
PEERLANE_CUDA_CALLS(PEERLANE_SAME_CALL)

}  // namespace
}  // namespace peerlane::vendor

#endif
#endif

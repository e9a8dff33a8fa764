/// Holds our declarations of NVML's ABI against nvml.h, wherever that is installed. Nothing here runs.

#if __has_include(<nvml.h>)

#include <nvml.h>

#include <cstddef>

#include "vendor/abi_same.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::vendor {
namespace {

SAME(nvml::Status::invalid_argument, NVML_ERROR_INVALID_ARGUMENT);
SAME(nvml::Status::not_supported, NVML_ERROR_NOT_SUPPORTED);
SAME(nvml::Status::no_permission, NVML_ERROR_NO_PERMISSION);
SAME(nvml::Status::not_found, NVML_ERROR_NOT_FOUND);
SAME(nvml::Status::driver_not_loaded, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(nvml::Status::function_not_found, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME(nvml::Status::gpu_is_lost, NVML_ERROR_GPU_IS_LOST);
SAME(nvml::Status::library_version_mismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME(nvml::Status::unknown, NVML_ERROR_UNKNOWN);

SAME(nvml::topology_single_switch, NVML_TOPOLOGY_SINGLE);
SAME(nvml::topology_switches, NVML_TOPOLOGY_MULTIPLE);
SAME(nvml::topology_host_bridge, NVML_TOPOLOGY_HOSTBRIDGE);
SAME(nvml::topology_node, NVML_TOPOLOGY_NODE);
SAME(nvml::topology_system, NVML_TOPOLOGY_SYSTEM);

SAME(nvml::p2p_write, NVML_P2P_CAPS_INDEX_WRITE);
SAME(nvml::p2p_nvlink, NVML_P2P_CAPS_INDEX_NVLINK);
SAME(nvml::p2p_atomics, NVML_P2P_CAPS_INDEX_ATOMICS);
SAME(nvml::p2p_chipset, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED);
SAME(nvml::p2p_gpu, NVML_P2P_STATUS_GPU_NOT_SUPPORTED);
SAME(nvml::p2p_ioh, NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED);
SAME(nvml::p2p_registry, NVML_P2P_STATUS_DISABLED_BY_REGKEY);
SAME(nvml::p2p_not_supported, NVML_P2P_STATUS_NOT_SUPPORTED);

SAME(nvml::link_peer, NVML_NVLINK_CAP_P2P_SUPPORTED);
SAME(nvml::link_peer_atomics, NVML_NVLINK_CAP_P2P_ATOMICS);
SAME(nvml::remote_switch, NVML_NVLINK_DEVICE_TYPE_SWITCH);
SAME(nvml::remote_unknown, NVML_NVLINK_DEVICE_TYPE_UNKNOWN);
SAME(nvml::field_link_count, NVML_FI_DEV_NVLINK_LINK_COUNT);
SAME(nvml::field_link_speed_mb_s, NVML_FI_DEV_NVLINK_GET_SPEED);
SAME(nvml::field_c2c_count, NVML_FI_DEV_C2C_LINK_COUNT);
SAME(nvml::type_double, NVML_VALUE_TYPE_DOUBLE);
SAME(nvml::type_longlong, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
SAME(nvml::type_int, NVML_VALUE_TYPE_SIGNED_INT);
SAME(nvml::type_ushort, NVML_VALUE_TYPE_UNSIGNED_SHORT);
SAME(nvml::fabric_completed, NVML_GPU_FABRIC_STATE_COMPLETED);
SAME(nvml::fabric_info_version, nvmlGpuFabricInfo_v2);

SAME_LAYOUT(nvml::PciInfo, nvmlPciInfo_t);
SAME_FIELD(nvml::PciInfo, domain, nvmlPciInfo_t, domain);
SAME_FIELD(nvml::PciInfo, id, nvmlPciInfo_t, busId);
SAME_LAYOUT(nvml::FieldValue, nvmlFieldValue_t);
SAME_FIELD(nvml::FieldValue, scope, nvmlFieldValue_t, scopeId);
SAME_FIELD(nvml::FieldValue, type, nvmlFieldValue_t, valueType);
SAME_FIELD(nvml::FieldValue, status, nvmlFieldValue_t, nvmlReturn);
SAME_FIELD(nvml::FieldValue, as_ulonglong, nvmlFieldValue_t, value.ullVal);
SAME_LAYOUT(nvml::FabricInfo, nvmlGpuFabricInfo_v2_t);
SAME_FIELD(nvml::FabricInfo, status, nvmlGpuFabricInfo_v2_t, status);
SAME_FIELD(nvml::FabricInfo, state, nvmlGpuFabricInfo_v2_t, state);
SAME_FIELD(nvml::FabricInfo, health_mask, nvmlGpuFabricInfo_v2_t, healthMask);

#define PEERLANE_SAME_CALL(name, symbol, parameters) \
  static_assert(SameCall<decltype(Nvml::name), decltype(&symbol)>::value, #symbol);
PEERLANE_NVML_CALLS(PEERLANE_SAME_CALL)

}  // namespace
}  // namespace peerlane::vendor

#endif

#pragma once
/// NVML behind a table of functions, our own declarations of its stable ABI. It may hang on a sick driver, so only
/// peerlane-probe loads it, in a process that can be killed.
///
/// Any function but the first three may be null (an older library), and any call may answer `not_supported`.

#include <string>

#include "peerlane/result.hpp"

namespace peerlane::nvml {

using Device = struct DeviceTag*;

enum class Status : int {
  success = 0,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  driver_not_loaded = 9,
  function_not_found = 13,
  gpu_is_lost = 15,
  library_version_mismatch = 18,
  unknown = 999,
};

enum Topology : int {
  topology_internal = 0,
  topology_single_switch = 10,
  topology_switches = 20,
  topology_host_bridge = 30,
  topology_node = 40,
  topology_system = 50,
};

enum P2PIndex : int { p2p_read = 0, p2p_write = 1, p2p_nvlink = 2, p2p_atomics = 3, p2p_pci = 4 };
enum P2PStatus : int {
  p2p_ok = 0,
  p2p_chipset = 1,
  p2p_gpu = 2,
  p2p_ioh = 3,
  p2p_registry = 4,
  p2p_not_supported = 5,
  p2p_unknown = 6,
};

inline constexpr unsigned most_links = 36;  // of the newest generation announced; older headers say 18
enum LinkCapability : int { link_peer = 0, link_system_memory = 1, link_peer_atomics = 2 };
enum RemoteType : int { remote_gpu = 0, remote_cpu = 1, remote_switch = 2, remote_unknown = 0xFF };

struct PciInfo {
  char legacy_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char id[32];
};

enum Field : unsigned { field_link_count = 91, field_link_speed_mb_s = 164, field_c2c_count = 170 };
enum ValueType : int { type_double, type_unsigned, type_ulong, type_ulonglong, type_longlong, type_int, type_ushort };
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;
  Status status;
  union {
    double as_double;
    int as_int;
    unsigned as_unsigned;
    unsigned long as_ulong;
    unsigned long long as_ulonglong;
    long long as_longlong;
    unsigned short as_ushort;
  };
};

enum FabricState : int {
  fabric_not_supported = 0,
  fabric_not_started = 1,
  fabric_in_progress = 2,
  fabric_completed = 3
};
struct FabricInfo {  // nvmlGpuFabricInfo_v2_t
  unsigned version;
  unsigned char cluster[16];
  Status status;
  unsigned clique;
  unsigned char state;
  unsigned health_mask;
};
inline constexpr unsigned fabric_info_version = sizeof(FabricInfo) | (2u << 24);

}  // namespace peerlane::nvml

/// Every NVML call that Peerlane uses: our name, the library's, its parameters.
// clang-format off
#define PEERLANE_NVML_CALLS(X)                                                                                         \
  X(init, nvmlInit_v2, ())                                                                                             \
  X(device_count, nvmlDeviceGetCount_v2, (unsigned* count))                                                            \
  X(device_by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml::Device* device))                            \
  X(driver_version, nvmlSystemGetDriverVersion, (char* text, unsigned length))                                         \
  X(library_version, nvmlSystemGetNVMLVersion, (char* text, unsigned length))                                          \
  X(name, nvmlDeviceGetName, (nvml::Device device, char* text, unsigned length))                                       \
  X(uuid, nvmlDeviceGetUUID, (nvml::Device device, char* text, unsigned length))                                       \
  X(pci_info, nvmlDeviceGetPciInfo_v3, (nvml::Device device, nvml::PciInfo* info))                                     \
  X(p2p_status, nvmlDeviceGetP2PStatus, (nvml::Device from, nvml::Device to, int index, int* status))                  \
  X(common_ancestor, nvmlDeviceGetTopologyCommonAncestor, (nvml::Device a, nvml::Device b, int* level))                \
  X(link_state, nvmlDeviceGetNvLinkState, (nvml::Device device, unsigned link, int* active))                           \
  X(link_version, nvmlDeviceGetNvLinkVersion, (nvml::Device device, unsigned link, unsigned* version))                 \
  X(link_capability, nvmlDeviceGetNvLinkCapability, (nvml::Device device, unsigned link, int which, unsigned* has))    \
  X(link_remote_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvml::Device device, unsigned link, nvml::PciInfo* info))   \
  X(link_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType, (nvml::Device device, unsigned link, int* type))            \
  X(field_values, nvmlDeviceGetFieldValues, (nvml::Device device, int count, nvml::FieldValue* values))                \
  X(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, (nvml::Device device, unsigned* generation))                 \
  X(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, (nvml::Device device, unsigned* width))                                \
  X(pcie_max_generation, nvmlDeviceGetMaxPcieLinkGeneration, (nvml::Device device, unsigned* generation))              \
  X(pcie_max_width, nvmlDeviceGetMaxPcieLinkWidth, (nvml::Device device, unsigned* width))                             \
  X(mig_mode, nvmlDeviceGetMigMode, (nvml::Device device, unsigned* current, unsigned* pending))                       \
  X(fabric_info, nvmlDeviceGetGpuFabricInfoV, (nvml::Device device, void* info /* its first field tells which form it has */))
// clang-format on

namespace peerlane::vendor {

struct Nvml {
#define PEERLANE_FIELD(name, symbol, parameters) nvml::Status(*name) parameters = nullptr;
  PEERLANE_NVML_CALLS(PEERLANE_FIELD)
#undef PEERLANE_FIELD

  std::string loaded_from;
};

/// Opens the library, fills the table and calls nvmlInit. The library stays loaded. `unavailable` says why not.
Result<Nvml> open_nvml(const std::string& library_path);

/// "NVML_ERROR_NOT_SUPPORTED (3)".
std::string status_name(nvml::Status status);

}  // namespace peerlane::vendor

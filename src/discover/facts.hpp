#pragma once
/// What each probe found, before it is joined into one Machine. Plain values; -1, 0 and empty mean unknown.

#include <optional>
#include <string>
#include <vector>

#include "peerlane/machine.hpp"

namespace peerlane::discover {

/// From the CUDA driver.
struct GpuFacts {
  int ordinal = 0;
  std::string name;
  std::string uuid;
  std::string pci;  ///< normal form, see pci_address.hpp
  Bytes memory = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int copy_engines = 0;
  double memory_clock_hz = 0;
  int memory_bus_bits = 0;
};

struct AccessFacts {
  int from = 0;
  int to = 0;
  Claim access = Claim::unknown;
  Claim atomics = Claim::unknown;
};

struct DriverFacts {
  int cuda_version = 0;
  std::vector<GpuFacts> gpus;
  std::vector<AccessFacts> pairs;
  std::vector<std::string> notes;
};

/// A PCIe link: what it can do and what it does now.
struct PcieFacts {
  int generation = 0;
  int width = 0;
  int generation_now = 0;
  int width_now = 0;
};

/// From NVML.
enum class FarEnd { unknown, gpu, nvswitch, cpu };
struct NvlinkFacts {
  bool active = false;
  int generation = 0;
  double raw_bytes_per_s = 0;  ///< signalling rate, per direction
  FarEnd far_end = FarEnd::unknown;
  std::string far_pci;
};

struct NvmlGpuFacts {
  int index = 0;  ///< NVML's own, not the CUDA ordinal
  std::string uuid;
  std::string pci;
  bool mig = false;
  PcieFacts pcie;
  std::vector<NvlinkFacts> links;
  int c2c_links = 0;
  int fabric_state = 0;  ///< nvml::FabricState
};

/// Codes are NVML's: nvml::Topology and nvml::P2PStatus.
struct NvmlPairFacts {
  int from = 0;  ///< NVML indices
  int to = 0;
  std::optional<int> ancestor;
  std::optional<int> read, write, nvlink, pci;
};

struct NvmlFacts {
  bool available = false;
  std::string driver;
  std::vector<NvmlGpuFacts> gpus;
  std::vector<NvmlPairFacts> pairs;
  std::vector<std::string> notes;
};

/// From hwloc, sysfs and procfs.
struct NumaFacts {
  int node = 0;
  Bytes memory = 0;
  int socket = 0;
};

enum class PciKind { bridge, gpu, nic, drive };
struct PciFacts {
  PciKind kind = PciKind::bridge;
  std::string pci;
  std::string name;
  int above = -1;  ///< index of the bridge it hangs on, always smaller than its own; -1: a bus of the CPU itself
  int socket = 0;
  int numa = -1;
  PcieFacts pcie;  ///< of the link that this device's configuration space describes
};

struct HostFacts {
  int cores = 1;  ///< that this process may use
  int sockets = 1;
  std::vector<NumaFacts> numa;
  std::vector<PciFacts> pci;
  std::string driver;  ///< the kernel module's version
  std::vector<std::string> notes;
};

struct Facts {
  DriverFacts driver;
  NvmlFacts nvml;
  HostFacts host;
};

}  // namespace peerlane::discover

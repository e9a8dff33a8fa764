#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>

#include "base/pci_address.hpp"
#include "discover/probes.hpp"
#include "discover/sysfs.hpp"

#ifdef PEERLANE_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace peerlane::discover {
namespace {

Bytes all_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<Bytes>(pages) * static_cast<Bytes>(page) : 0;
}

/// One socket with all memory: what is true of every machine when nobody can say more.
void assume_one_node(HostFacts& facts) {
  facts.sockets = 1;
  facts.numa = {{0, all_memory(), 0}};
}

#ifdef PEERLANE_HAVE_HWLOC

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

/// Null when hwloc cannot read the machine.
Topology load_topology(const HostSources& sources) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // These plug-ins would ask the GPU libraries inside this process, where they can hang; peerlane-probe asks instead.
  for (const char* plugin : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  const std::string& xml = sources.hwloc_xml;
  if (!xml.empty() && hwloc_topology_set_xmlbuffer(raw, xml.c_str(), static_cast<int>(xml.size() + 1)) != 0) {
    return nullptr;
  }
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

/// Where an object that may stand above or beside the sockets belongs: the first socket it touches.
int socket_of(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  hwloc_obj_t package = nullptr;
  while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != nullptr) {
    if (cpus != nullptr && hwloc_bitmap_intersects(package->cpuset, cpus))
      return static_cast<int>(package->logical_index);
  }
  return 0;
}

/// The one NUMA node near an object; -1 when several are equally near.
int numa_of(hwloc_const_nodeset_t nodes) {
  return nodes != nullptr && hwloc_bitmap_weight(nodes) == 1 ? hwloc_bitmap_first(nodes) : -1;
}

/// Memory of a Grace-attached GPU is a NUMA node to Linux, and not a place of the host's.
bool is_gpu_memory(hwloc_obj_t node) {
  return node->subtype != nullptr && std::string_view(node->subtype) == "GPUMemory";
}

void read_numa(hwloc_topology_t topology, HostFacts& facts) {
  facts.sockets = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (is_gpu_memory(node)) continue;
    facts.numa.push_back(
        {static_cast<int>(node->os_index), node->attr->numanode.local_memory, socket_of(topology, node->cpuset)});
  }
  std::sort(facts.numa.begin(), facts.numa.end(), [](auto& a, auto& b) { return a.node < b.node; });
}

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;
constexpr unsigned short nvidia = 0x10de;

std::optional<PciKind> kind_of(const PciAttributes& device) {
  const int base_class = device.class_id >> 8;
  if (base_class == 0x03 && device.vendor_id == nvidia) return PciKind::gpu;
  if (base_class == 0x02) return PciKind::nic;           // Ethernet and InfiniBand
  if (device.class_id == 0x0108) return PciKind::drive;  // NVMe
  return std::nullopt;
}

/// Lower is better: verbs names before network names, whole drives before nothing.
int rank_of(hwloc_obj_osdev_type_t type) {
  switch (type) {
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return 0;
    case HWLOC_OBJ_OSDEV_NETWORK:
    case HWLOC_OBJ_OSDEV_BLOCK:
      return 1;
    default:
      return 2;
  }
}

/// What the operating system calls a device: "mlx5_0", "eth0", "nvme0n1".
std::string name_of(hwloc_obj_t device) {
  hwloc_obj_t best = nullptr;
  for (hwloc_obj_t child = device->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr || rank_of(child->attr->osdev.type) > 1) continue;
    if (best == nullptr || rank_of(child->attr->osdev.type) < rank_of(best->attr->osdev.type)) best = child;
  }
  return best != nullptr ? best->name : "";
}

std::string address_of(const PciAttributes& device) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", device.domain, device.bus, device.dev, device.func);
  return text;
}

class TreeReader {
 public:
  TreeReader(hwloc_topology_t topology, const HostSources& sources, HostFacts& facts)
      : topology_(topology), sources_(sources), facts_(facts) {}

  void read() {
    hwloc_obj_t bridge = nullptr;
    while ((bridge = hwloc_get_next_bridge(topology_, bridge)) != nullptr) {
      if (bridge->attr->bridge.upstream_type != HWLOC_OBJ_BRIDGE_HOST) continue;
      const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology_, bridge);
      socket_ = near != nullptr ? socket_of(topology_, near->cpuset) : 0;
      numa_ = near != nullptr ? numa_of(near->nodeset) : -1;
      read_below(bridge, -1);
    }
  }

 private:
  void read_below(hwloc_obj_t parent, int above) {
    for (hwloc_obj_t child = parent->io_first_child; child != nullptr; child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_BRIDGE && child->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
        read_below(child, add(PciKind::bridge, child->attr->bridge.upstream.pci, "", above));
      } else if (child->type == HWLOC_OBJ_PCI_DEVICE) {
        if (const auto kind = kind_of(child->attr->pcidev)) add(*kind, child->attr->pcidev, name_of(child), above);
      }
    }
  }

  int add(PciKind kind, const PciAttributes& device, std::string name, int above) {
    const std::string pci = address_of(device);
    facts_.pci.push_back({kind, pci, std::move(name), above, socket_, numa_, pcie_facts(sources_.sysfs, pci)});
    return static_cast<int>(facts_.pci.size()) - 1;
  }

  hwloc_topology_t topology_;
  const HostSources& sources_;
  HostFacts& facts_;
  int socket_ = 0;
  int numa_ = -1;
};

void read_tree(const HostSources& sources, HostFacts& facts) {
  const Topology topology = load_topology(sources);
  if (topology == nullptr) {
    facts.notes.push_back("hwloc cannot read this machine: NUMA nodes and the PCI tree are not known");
    return assume_one_node(facts);
  }
  read_numa(topology.get(), facts);
  if (facts.numa.empty()) assume_one_node(facts);
  TreeReader(topology.get(), sources, facts).read();
}

#else

void read_tree(const HostSources&, HostFacts& facts) {
  facts.notes.push_back("this build has no hwloc: NUMA nodes and the PCI tree are not known");
  assume_one_node(facts);
}

#endif

}  // namespace

HostFacts host_facts(const HostSources& sources) {
  HostFacts facts;
  facts.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  facts.driver = kernel_module_version(sources.procfs);
  read_tree(sources, facts);
  return facts;
}

}  // namespace peerlane::discover

#include <algorithm>

#include "discover/draft.hpp"
#include "machine/paths.hpp"

namespace peerlane::discover {
namespace {

/// What both ends of a link can do; and what it does now it surely can, whatever an emulated port says.
int common(int a, int b, int now) {
  return std::max(a > 0 && b > 0 ? std::min(a, b) : std::max(a, b), now);
}

PcieFacts common(const PcieFacts& device, const PcieFacts& port) {
  return {common(device.generation, port.generation, device.generation_now),
          common(device.width, port.width, device.width_now), device.generation_now, device.width_now};
}

/// NVML speaks for a GPU: it knows the real link also where a virtual machine shows an invented one.
PcieFacts prefer(const PcieFacts& nvml, const PcieFacts& sysfs) {
  const bool known = nvml.generation > 0 && nvml.width > 0;
  return known ? nvml : sysfs;
}

/// A device's rate where nobody reports generation or width.
double usual_rate(NodeKind kind, int compute_major) {
  const int width = kind == NodeKind::drive ? 4 : 16;
  const int generation = kind != NodeKind::gpu ? 3 : compute_major >= 9 ? 5 : compute_major >= 8 ? 4 : 3;
  return machine::assumed_rate(LinkKind::pcie, generation, width);
}

class Tree {
 public:
  Tree(Draft& draft, const Facts& facts) : draft_(draft), facts_(facts), nodes_(facts.host.pci.size(), unplaced) {}

  void grow() {
    add_sockets();
    for (const GpuFacts& gpu : facts_.driver.gpus) hang(gpu);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const PciKind kind = facts_.host.pci[i].kind;
      if (kind == PciKind::nic || kind == PciKind::drive) hang_device(static_cast<int>(i));
    }
  }

 private:
  static constexpr int unplaced = -1;

  void add_sockets() {
    for (int i = 0; i < std::max(1, facts_.host.sockets); ++i) {
      sockets_.push_back(draft_.add(NodeKind::socket, ""));
      for (int other = 0; other < i; ++other) {
        draft_.link({.a = sockets_[other], .b = sockets_[i], .kind = LinkKind::socket});
      }
    }
    for (const NumaFacts& numa : facts_.host.numa) {
      const int node = draft_.add_numbered(NodeKind::numa, numa.node, "");
      draft_.machine.nodes[node].numa = numa.node;
      draft_.machine.nodes[node].memory = numa.memory;
      draft_.link({.a = socket_node(numa.socket), .b = node, .kind = LinkKind::memory});
      draft_.machine.nodes[node].memory_bytes_per_s = 2 * draft_.machine.links.back().bytes_per_s;
    }
  }

  int socket_node(int socket) const {
    return sockets_[static_cast<std::size_t>(socket) < sockets_.size() ? socket : 0];
  }

  /// The node that stands for a bridge, made when it is first needed, with all above it.
  int bridge_node(int index) {
    if (nodes_[index] != unplaced) return nodes_[index];
    const PciFacts& bridge = facts_.host.pci[index];
    if (bridge.above < 0) return nodes_[index] = add_port(bridge.pci, bridge.socket);
    const int above = bridge_node(bridge.above);
    // A switch is a bridge upwards and one downwards for each of its slots; all of them are one node.
    if (is_upstream(bridge.above)) return nodes_[index] = above;
    nodes_[index] = draft_.add(NodeKind::pcie_switch, "", bridge.pci);
    plug(nodes_[index], above, common(bridge.pcie, facts_.host.pci[bridge.above].pcie));
    return nodes_[index];
  }

  /// Below a root port or a switch's downward port comes the upward port of the next switch.
  bool is_upstream(int index) const {
    const int above = facts_.host.pci[index].above;
    return above >= 0 && !is_upstream(above);
  }

  int add_port(const std::string& pci, int socket) {
    const int port = draft_.add(NodeKind::root_port, "", pci);
    draft_.link({.a = port, .b = socket_node(socket), .kind = LinkKind::root});
    return port;
  }

  void plug(int node, int above, const PcieFacts& pcie) {
    Link link{.a = node, .b = above, .kind = LinkKind::pcie, .width = pcie.width, .generation = pcie.generation};
    const bool reported = pcie.width > 0 && pcie.generation > 0;
    link.origin = reported ? Origin::reported : Origin::assumed;
    const Node& device = draft_.machine.nodes[node];
    if (!reported) link.bytes_per_s = usual_rate(device.kind, device.compute_major);
    draft_.link(link);
  }

  /// The switch or port that a device hangs on; one of its own where it stands on a bus of the CPU itself.
  int holder(const PciFacts& device) {
    return device.above >= 0 ? bridge_node(device.above) : add_port("", device.socket);
  }

  PcieFacts link_above(const PciFacts& device) const {
    return device.above >= 0 ? common(device.pcie, facts_.host.pci[device.above].pcie) : device.pcie;
  }

  void hang_device(int index) {
    const PciFacts& device = facts_.host.pci[index];
    const NodeKind kind = device.kind == PciKind::nic ? NodeKind::nic : NodeKind::drive;
    const int above = holder(device);
    const int node = draft_.add(kind, device.name, device.pci);
    draft_.machine.nodes[node].numa = numa_or_only(device.numa);
    plug(node, above, link_above(device));
  }

  void hang(const GpuFacts& gpu) {
    const auto& pci = facts_.host.pci;
    const auto seen = std::find_if(pci.begin(), pci.end(), [&](const PciFacts& device) {
      return device.kind != PciKind::bridge && !gpu.pci.empty() && device.pci == gpu.pci;
    });
    const NvmlGpuFacts* nvml = nvml_of(facts_, gpu);
    const PcieFacts reported = nvml != nullptr ? nvml->pcie : PcieFacts{};
    const int node = draft_.gpu(gpu.ordinal);
    if (seen != pci.end()) {
      draft_.machine.nodes[node].numa = numa_or_only(seen->numa);
      plug(node, holder(*seen), prefer(reported, link_above(*seen)));
      add_c2c(node, seen->socket, nvml);
    } else {
      draft_.machine.nodes[node].numa = numa_or_only(-1);
      plug(node, add_port("", 0), reported);
      add_c2c(node, 0, nvml);
    }
  }

  void add_c2c(int gpu, int socket, const NvmlGpuFacts* nvml) {
    if (nvml == nullptr || nvml->c2c_links == 0) return;
    draft_.link({.a = gpu, .b = socket_node(socket), .kind = LinkKind::c2c, .width = nvml->c2c_links});
  }

  int numa_or_only(int numa) const {
    return numa < 0 && facts_.host.numa.size() == 1 ? facts_.host.numa.front().node : numa;
  }

  Draft& draft_;
  const Facts& facts_;
  std::vector<int> sockets_;
  std::vector<int> nodes_;  ///< machine node of each PCI bridge
};

}  // namespace

void grow_tree(Draft& draft, const Facts& facts) {
  Tree(draft, facts).grow();
}

}  // namespace peerlane::discover

#include <algorithm>
#include <map>

#include "importers/join.hpp"
#include "machine/paths.hpp"

namespace peerlane::importers {
namespace {

NodeKind kind_of(SaidKind kind) {
  switch (kind) {
    case SaidKind::gpu:
      return NodeKind::gpu;
    case SaidKind::nic:
      return NodeKind::nic;
    case SaidKind::drive:
      return NodeKind::drive;
    case SaidKind::nvswitch:
      return NodeKind::nvswitch;
    case SaidKind::root_port:
      return NodeKind::root_port;
    case SaidKind::bridge:
      return NodeKind::pcie_switch;
    case SaidKind::host_bridge:
    case SaidKind::device:
      break;
  }
  return NodeKind::device;
}

bool is_bridge(const SaidDevice& device) {
  return device.kind == SaidKind::bridge || device.kind == SaidKind::root_port || device.kind == SaidKind::host_bridge;
}

class Grower {
 public:
  explicit Grower(Joining& joining) : joining_(joining), devices_(joining.said.devices) {}

  void grow() {
    // GPUs first, so that the machine reads as people name it.
    for (const bool gpus : {true, false}) {
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (!is_bridge(devices_[i]) && (devices_[i].kind == SaidKind::gpu) == gpus) hang(static_cast<int>(i));
      }
    }
  }

 private:
  void hang(int index) {
    const SaidDevice& device = devices_[index];
    const int node = add_device(joining_, index);
    if (device.kind == SaidKind::nvswitch) return;  // its PCIe link carries no data
    const int above = device.above >= 0 ? bridge_node(device.above) : unplaced;
    plug(joining_, node, above != unplaced ? above : add_port(joining_, socket_above(index), ""), device);
  }

  /// The node that stands for a bridge, made when it is first needed, with all above it.
  int bridge_node(int index) {
    int& node = joining_.nodes[index];
    if (node != unplaced) return node;
    const SaidDevice& bridge = devices_[index];
    if (bridge.kind == SaidKind::host_bridge) return unplaced;
    const int above = bridge.above >= 0 ? bridge_node(bridge.above) : unplaced;
    const bool is_port = bridge.kind == SaidKind::root_port ||
                         (above == unplaced && !joining_.said.bridges_are_switches);
    if (is_port) return node = add_port(joining_, socket_above(index), bridge.pci);
    if (joins_its_switch(index)) return node = above;
    const int made = joining_.draft.add(NodeKind::pcie_switch, bridge.name, bridge.pci);
    plug(joining_, made, above != unplaced ? above : add_port(joining_, socket_above(index), ""), bridge);
    return joining_.nodes[index] = made;
  }

  /// A switch is a bridge upwards and one downwards for each of its slots; all of them are one node.
  bool joins_its_switch(int index) const {
    return !joining_.said.bridges_are_switches && is_upstream(devices_[index].above);
  }

  bool is_upstream(int index) const {
    bool upstream = false;
    for (; index >= 0 && is_inner(index); index = devices_[index].above) upstream = !upstream;
    return upstream;
  }

  /// Neither a root port nor what stands in for one.
  bool is_inner(int index) const {
    const SaidDevice& bridge = devices_[index];
    return bridge.kind == SaidKind::bridge && bridge.above >= 0 &&
           devices_[bridge.above].kind != SaidKind::host_bridge;
  }

  /// The socket that a device or a bridge above or below it is near to.
  int socket_above(int index) const {
    int numa = -1;
    for (int at = index; at >= 0 && numa < 0; at = devices_[at].above) numa = devices_[at].numa;
    return socket_of(joining_, numa);
  }

  static constexpr int unplaced = -1;
  Joining& joining_;
  const std::vector<SaidDevice>& devices_;
};

/// What both ends of a link can do is what it did at its best.
int best(int possible, int now) {
  return std::max(possible, now);
}

/// Of a GPU, by its age.
int usual_pcie_generation(const Joining& joining, const SaidDevice& device) {
  if (device.compute_major > 0) return device.compute_major >= 9 ? 5 : device.compute_major >= 8 ? 4 : 3;
  int bonded = 0;
  for (const SaidLetters& pair : joining.said.letters) {
    const bool ours = &joining.said.devices[pair.a] == &device || &joining.said.devices[pair.b] == &device;
    if (ours) bonded = std::max(bonded, nvlinks_in(pair.letters));
  }
  return bonded > 12 ? 5 : bonded > 6 ? 4 : 3;  // Hopper brought eighteen links and PCIe 5, Ampere twelve and PCIe 4
}

/// A device's rate where nobody says generation or width: what its age suggests.
double usual_rate(const Joining& joining, NodeKind kind, const SaidDevice& device) {
  const int width = kind == NodeKind::drive ? 4 : 16;
  int generation = 3;
  if (kind == NodeKind::gpu) generation = usual_pcie_generation(joining, device);
  return machine::assumed_rate(LinkKind::pcie, generation, width);
}

}  // namespace

int add_port(Joining& joining, int socket, const std::string& pci) {
  const int port = joining.draft.add(NodeKind::root_port, "", pci);
  joining.draft.link({.a = port, .b = socket, .kind = LinkKind::root});
  return port;
}

int add_device(Joining& joining, int index) {
  const SaidDevice& device = joining.said.devices[index];
  const NodeKind kind = kind_of(device.kind);
  const int made = kind == NodeKind::gpu
                       ? joining.draft.add_numbered(kind, device.ordinal, device.name, device.pci)
                       : joining.draft.add(kind, nic_name(device), device.pci);
  Node& node = joining.draft.machine.nodes[made];
  node.numa = device.numa;
  node.cpus = device.cpus;
  if (kind == NodeKind::gpu) {
    node.uuid = device.uuid;
    node.memory = device.memory;
    node.compute_major = device.compute_major;
    node.compute_minor = device.compute_minor;
    node.memory_numa = device.memory_numa;
    node.mig_slices = device.mig_slices;
  }
  return joining.nodes[index] = made;
}

std::string nic_name(const SaidDevice& device) {
  const bool only_numbered = device.kind == SaidKind::nic && device.name.empty() && device.ordinal >= 0;
  return only_numbered ? "NIC" + std::to_string(device.ordinal) : device.name;
}

void plug(Joining& joining, int node, int above, const SaidDevice& device) {
  Link link{.a = node,
            .b = above,
            .kind = LinkKind::pcie,
            .width = best(device.pcie.width, device.pcie.width_now),
            .generation = best(device.pcie.generation, device.pcie.generation_now)};
  const bool reported = link.width > 0 && link.generation > 0;
  link.origin = reported ? Origin::reported : Origin::assumed;
  if (!reported) link.bytes_per_s = usual_rate(joining, joining.draft.machine.nodes[node].kind, device);
  joining.draft.link(link);
}

void place_cpus(Joining& joining) {
  std::map<int, SaidNode> nodes;
  for (const SaidNode& node : joining.said.nodes) {
    if (!node.gpu_memory) nodes.emplace(node.number, node);
  }
  for (const SaidDevice& device : joining.said.devices) {
    if (device.numa < 0) continue;
    SaidNode near;
    near.number = device.numa;
    near.cpus = device.cpus;
    nodes.emplace(device.numa, near);
  }
  if (nodes.empty()) {
    nodes.emplace(0, SaidNode{});
    joining.draft.note("nothing is said of CPUs and their memory: one NUMA node is assumed");
  }
  std::map<std::pair<bool, int>, int> sockets;
  for (const auto& [number, node] : nodes) {
    const std::pair key(node.socket < 0, node.socket < 0 ? number : node.socket);
    auto known = sockets.find(key);
    if (known == sockets.end()) {
      const int socket = joining.draft.add(NodeKind::socket, "");
      for (const auto& [other_key, other] : sockets) {
        joining.draft.link({.a = other, .b = socket, .kind = LinkKind::socket});
      }
      known = sockets.emplace(key, socket).first;
    }
    const int made = joining.draft.add_numbered(NodeKind::numa, number, "");
    Node& memory = joining.draft.machine.nodes[made];
    memory.numa = number;
    memory.memory = node.memory;
    memory.cpus = node.cpus;
    joining.draft.link({.a = known->second, .b = made, .kind = LinkKind::memory});
    joining.draft.machine.nodes[made].memory_bytes_per_s = 2 * joining.draft.machine.links.back().bytes_per_s;
  }
}

int socket_of(const Joining& joining, int numa) {
  const Machine& machine = joining.draft.machine;
  int first = -1;
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::memory) continue;
    if (first < 0) first = link.a;
    if (machine.nodes[link.b].index == numa) return link.a;
  }
  return first;
}

void grow_tree(Joining& joining) {
  Grower(joining).grow();
}

}  // namespace peerlane::importers

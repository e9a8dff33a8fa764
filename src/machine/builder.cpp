#include "machine/builder.hpp"

#include <algorithm>

#include "machine/paths.hpp"

namespace peerlane::machine {
namespace {

/// What copies get of the nominal rate, reading and writing together: 1.99 TB/s each way of 4.81 for 1 GiB on an H200.
constexpr double copy_share = 0.83;

Pair nvlink_pair(int from, int to, const Path& path) {
  return {from, to, "NV" + std::to_string(path.width), path.width, Claim::yes, Claim::yes, ""};
}

Pair pcie_pair(const Machine& machine, int from, int to, std::string why_closed) {
  const int a = *machine.find(NodeKind::gpu, from);
  const int b = *machine.find(NodeKind::gpu, to);
  const Claim access = why_closed.empty() ? Claim::yes : Claim::no;
  return {from, to, pcie_letters(machine, a, b), 0, access, Claim::no, std::move(why_closed)};
}

}  // namespace

Builder::Builder(std::string_view name, int cuda_version, HostRates host) {
  machine_.name = name;
  machine_.cuda_version = cuda_version;
  machine_.host = host;
}

int Builder::add(NodeKind kind, std::string_view name) {
  Node node;
  node.kind = kind;
  node.index = static_cast<int>(std::count_if(machine_.nodes.begin(), machine_.nodes.end(),
                                              [&](const Node& other) { return other.kind == kind; }));
  node.name = name;
  machine_.nodes.push_back(std::move(node));
  return static_cast<int>(machine_.nodes.size()) - 1;
}

void Builder::link(Link link) {
  if (link.bytes_per_s == 0) link.bytes_per_s = assumed_rate(link.kind, link.generation, link.width);
  if (link.latency_s == 0) link.latency_s = assumed_latency(link.kind);
  machine_.links.push_back(link);
}

int Builder::plug(int node, Slot slot, std::string_view pci, int numa) {
  machine_.nodes[node].pci = pci;
  machine_.nodes[node].numa = numa;
  link({.a = node, .b = slot.above, .kind = LinkKind::pcie, .width = slot.width, .generation = slot.generation});
  return node;
}

int Builder::socket(int numa_nodes, Bytes memory_each, double bytes_per_s) {
  const int socket = add(NodeKind::socket, "");
  for (int i = 0; i < numa_nodes; ++i) {
    const int node = add(NodeKind::numa, "");
    machine_.nodes[node].memory = memory_each;
    machine_.nodes[node].memory_bytes_per_s = 2 * bytes_per_s;
    machine_.nodes[node].numa = machine_.nodes[node].index;
    link({.a = socket, .b = node, .kind = LinkKind::memory, .bytes_per_s = bytes_per_s});
  }
  return socket;
}

void Builder::join_sockets(int a, int b, double bytes_per_s) {
  link({.a = a, .b = b, .kind = LinkKind::socket, .bytes_per_s = bytes_per_s});
}

int Builder::port(int socket, std::string_view pci) {
  const int port = add(NodeKind::root_port, "");
  machine_.nodes[port].pci = pci;
  link({.a = port, .b = socket, .kind = LinkKind::root});
  return port;
}

int Builder::pcie_switch(Slot slot) {
  return plug(add(NodeKind::pcie_switch, ""), slot, "", -1);
}

int Builder::gpu(const GpuModel& model, Slot slot, std::string_view pci, int numa) {
  const int at = plug(add(NodeKind::gpu, model.name), slot, pci, numa);
  Node& node = machine_.nodes[at];
  node.memory = model.memory;
  node.memory_bytes_per_s = model.memory_bytes_per_s * copy_share;
  node.compute_major = model.compute_major;
  node.compute_minor = model.compute_minor;
  node.copy_engines = model.copy_engines;
  return at;
}

int Builder::nic(std::string_view name, Slot slot, std::string_view pci, int numa) {
  return plug(add(NodeKind::nic, name), slot, pci, numa);
}

int Builder::drive(std::string_view name, Slot slot, std::string_view pci, int numa) {
  return plug(add(NodeKind::drive, name), slot, pci, numa);
}

int Builder::nvswitch(std::string_view name) {
  return add(NodeKind::nvswitch, name);
}

void Builder::nvlink(int a, int b, int generation, int width) {
  nvlink(a, b, generation, width, assumed_rate(LinkKind::nvlink, generation, width));
}

void Builder::nvlink(int a, int b, int generation, int width, double bytes_per_s) {
  const bool half_way = machine_.nodes[a].kind == NodeKind::nvswitch || machine_.nodes[b].kind == NodeKind::nvswitch;
  link({.a = a,
        .b = b,
        .kind = LinkKind::nvlink,
        .width = width,
        .generation = generation,
        .bytes_per_s = bytes_per_s,
        .latency_s = assumed_latency(LinkKind::nvlink) / (half_way ? 2 : 1)});
}

Machine Builder::finish(const WhyClosed& why_closed) && {
  const int gpus = machine_.gpu_count();
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      const auto path = nvlink_path(machine_, from, to);
      machine_.pairs.push_back(path ? nvlink_pair(from, to, *path)
                                    : pcie_pair(machine_, from, to, why_closed(machine_, from, to)));
    }
  }
  claim_nearness(machine_);
  return std::move(machine_);
}

}  // namespace peerlane::machine

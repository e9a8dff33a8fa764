#include "machine/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace peerlane::machine {
namespace {

template <class... Kinds>
constexpr unsigned set_of(Kinds... kinds) {
  return ((1u << static_cast<unsigned>(kinds)) | ...);
}

/// Which links a way may take, and which nodes it may pass through.
struct Rules {
  unsigned links;
  unsigned through;

  bool takes(LinkKind kind) const { return (links & set_of(kind)) != 0; }
  bool passes(NodeKind kind) const { return (through & set_of(kind)) != 0; }
};

constexpr unsigned pcie_tree = set_of(LinkKind::pcie, LinkKind::root, LinkKind::socket);
constexpr unsigned tree_nodes = set_of(NodeKind::pcie_switch, NodeKind::root_port, NodeKind::socket);

constexpr Rules over_nvlink = {set_of(LinkKind::nvlink, LinkKind::xgmi), set_of(NodeKind::nvswitch)};
constexpr Rules over_pcie = {pcie_tree, tree_nodes};
constexpr Rules pcie_to_memory = {pcie_tree | set_of(LinkKind::memory), tree_nodes};
constexpr Rules c2c_to_memory = {set_of(LinkKind::c2c, LinkKind::socket, LinkKind::memory), set_of(NodeKind::socket)};

std::vector<std::vector<Segment>> segments_from(const Machine& machine, const Rules& rules) {
  std::vector<std::vector<Segment>> leaving(machine.nodes.size());
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const Link& link = machine.links[i];
    if (!rules.takes(link.kind)) continue;
    leaving[link.a].push_back({static_cast<int>(i), true});
    leaving[link.b].push_back({static_cast<int>(i), false});
  }
  return leaving;
}

int end_of(const Machine& machine, Segment segment) {
  const Link& link = machine.links[segment.link];
  return segment.forward ? link.b : link.a;
}

int start_of(const Machine& machine, Segment segment) {
  return end_of(machine, {segment.link, !segment.forward});
}

/// How a node was reached: fewest links first, then the widest of its narrowest link.
struct Reached {
  int links = std::numeric_limits<int>::max();
  double bytes_per_s = 0;
  Segment by;

  bool better_than(const Reached& other) const {
    return links != other.links ? links < other.links : bytes_per_s > other.bytes_per_s;
  }
};

/// The best way by the rules, or nothing. Dijkstra; equal ways are settled by the order of the links.
std::optional<std::vector<Segment>> find_way(const Machine& machine, int from, int to, const Rules& rules) {
  const auto leaving = segments_from(machine, rules);
  std::vector<Reached> reached(machine.nodes.size());
  using Waiting = std::tuple<int, double, int>;  // links, -bytes_per_s, node
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  reached[from] = {0, std::numeric_limits<double>::infinity(), {}};
  waiting.emplace(0, -reached[from].bytes_per_s, from);

  while (!waiting.empty()) {
    const auto [links, negative_rate, node] = waiting.top();
    waiting.pop();
    if (node == to) break;
    const bool outdated = links != reached[node].links || -negative_rate != reached[node].bytes_per_s;
    if (outdated || (node != from && !rules.passes(machine.nodes[node].kind))) continue;
    for (const Segment segment : leaving[node]) {
      const int next = end_of(machine, segment);
      const double rate = std::min(reached[node].bytes_per_s, machine.links[segment.link].bytes_per_s);
      const Reached offer = {links + 1, rate, segment};
      if (!offer.better_than(reached[next])) continue;
      reached[next] = offer;
      waiting.emplace(offer.links, -offer.bytes_per_s, next);
    }
  }

  if (from == to || reached[to].links == std::numeric_limits<int>::max()) return std::nullopt;
  std::vector<Segment> way;
  for (int node = to; node != from; node = start_of(machine, way.back())) way.push_back(reached[node].by);
  std::reverse(way.begin(), way.end());
  return way;
}

bool joins_devices(LinkKind kind) {
  return kind == LinkKind::nvlink || kind == LinkKind::pcie || kind == LinkKind::c2c || kind == LinkKind::xgmi;
}

Path summarize(const Machine& machine, std::vector<Segment> segments) {
  Path path;
  path.bytes_per_s = std::numeric_limits<double>::infinity();
  const Link* named = nullptr;
  for (const Segment segment : segments) {
    const Link& link = machine.links[segment.link];
    path.bytes_per_s = std::min(path.bytes_per_s, link.bytes_per_s);
    path.latency_s += link.latency_s;
    path.crosses_sockets |= link.kind == LinkKind::socket;
    const bool speaks_louder = named == nullptr || (joins_devices(link.kind) && !joins_devices(named->kind));
    const bool slower = named != nullptr && joins_devices(link.kind) == joins_devices(named->kind) &&
                        link.bytes_per_s < named->bytes_per_s;
    if (speaks_louder || slower) named = &link;
  }
  path.kind = named->kind;
  path.width = named->width;
  path.generation = named->generation;
  path.segments = std::move(segments);
  return path;
}

std::optional<Path> find_path(const Machine& machine, std::optional<int> from, std::optional<int> to,
                              const Rules& rules) {
  if (!from || !to) return std::nullopt;
  auto way = find_way(machine, *from, *to, rules);
  if (!way) return std::nullopt;
  return summarize(machine, std::move(*way));
}

/// "0000:80" of "0000:80:01.0": the bus that a root port hangs on names its host bridge.
std::string_view root_bus(const Node& port) {
  const std::size_t last_colon = port.pci.rfind(':');
  return last_colon == std::string::npos ? std::string_view() : std::string_view(port.pci).substr(0, last_colon);
}

bool share_host_bridge(const Node& a, const Node& b) {
  return !root_bus(a).empty() && root_bus(a) == root_bus(b);
}

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "NVLink";
    case LinkKind::pcie:
      return "PCIe";
    case LinkKind::root:
      return "host bridge";
    case LinkKind::memory:
      return "host memory";
    case LinkKind::socket:
      return "socket link";
    case LinkKind::c2c:
      return "NVLink-C2C";
    case LinkKind::xgmi:
      return "xGMI";
  }
  return "link";
}

}  // namespace

std::optional<Path> nvlink_path(const Machine& machine, int from_gpu, int to_gpu) {
  return find_path(machine, machine.find(NodeKind::gpu, from_gpu), machine.find(NodeKind::gpu, to_gpu), over_nvlink);
}

std::optional<Path> pcie_path(const Machine& machine, int from_gpu, int to_gpu) {
  return find_path(machine, machine.find(NodeKind::gpu, from_gpu), machine.find(NodeKind::gpu, to_gpu), over_pcie);
}

std::optional<Path> host_path(const Machine& machine, int gpu, int numa_node, bool to_host) {
  const auto device = machine.find(NodeKind::gpu, gpu);
  const auto memory = machine.find(NodeKind::numa, numa_node == -1 ? nearest_numa(machine, gpu) : numa_node);
  const auto& from = to_host ? device : memory;
  const auto& to = to_host ? memory : device;
  auto path = find_path(machine, from, to, c2c_to_memory);
  return path ? path : find_path(machine, from, to, pcie_to_memory);
}

int nearest_numa(const Machine& machine, int gpu) {
  const std::vector<int> numbers = machine.numa_nodes();
  if (numbers.empty()) return -1;
  const Node* node = machine.gpu(gpu);
  if (node == nullptr) return numbers.front();
  if (std::find(numbers.begin(), numbers.end(), node->numa) != numbers.end()) return node->numa;

  const auto distance = [&](int number) {
    const auto path = host_path(machine, gpu, number, true);
    return path ? path->segments.size() : std::numeric_limits<std::size_t>::max();
  };
  return *std::min_element(numbers.begin(), numbers.end(), [&](int a, int b) { return distance(a) < distance(b); });
}

std::string pcie_letters(const Machine& machine, int node_a, int node_b) {
  const auto way = find_way(machine, node_a, node_b, over_pcie);
  if (!way) return "";
  int switches = 0;
  bool through_socket = false;
  std::vector<const Node*> ports;
  const int numa_a = machine.nodes[node_a].numa, numa_b = machine.nodes[node_b].numa;
  for (const Segment segment : *way) {
    if (machine.links[segment.link].kind == LinkKind::socket) return "SYS";
    const Node& node = machine.nodes[end_of(machine, segment)];
    switches += node.kind == NodeKind::pcie_switch;
    through_socket |= node.kind == NodeKind::socket;
    if (node.kind == NodeKind::root_port) ports.push_back(&node);
  }
  if (!through_socket) return switches == 0 || !ports.empty() ? "PHB" : switches == 1 ? "PIX" : "PXB";
  if (ports.size() == 2 && share_host_bridge(*ports[0], *ports[1])) return "PHB";
  return numa_a >= 0 && numa_b >= 0 && numa_a != numa_b ? "SYS" : "NODE";
}

void claim_nearness(Machine& machine) {
  machine.near.clear();
  for (std::size_t nic = 0; nic < machine.nodes.size(); ++nic) {
    if (machine.nodes[nic].kind != NodeKind::nic) continue;
    for (int ordinal = 0; ordinal < machine.gpu_count(); ++ordinal) {
      const auto gpu = machine.find(NodeKind::gpu, ordinal);
      const std::string letters = gpu ? pcie_letters(machine, *gpu, static_cast<int>(nic)) : "";
      if (!letters.empty()) machine.near.push_back({machine.nodes[nic].index, ordinal, letters});
    }
  }
}

std::string describe(const Path& path) {
  std::string text(name_of(path.kind));
  if (joins_devices(path.kind) && path.generation > 0) text += fmt::format(" {}", path.generation);
  if (joins_devices(path.kind) && path.width > 0) text += fmt::format(" ×{}", path.width);
  if (path.crosses_sockets && path.kind != LinkKind::socket) text += " and socket link";
  return text;
}

}  // namespace peerlane::machine

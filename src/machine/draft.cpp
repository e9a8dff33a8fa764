#include "machine/draft.hpp"

#include <algorithm>

#include "machine/paths.hpp"

namespace peerlane::machine {
namespace {

/// Of a link whose generation is newer than we know, or that nobody could tell: the nearest that is known.
double nearest_known_rate(const Link& link) {
  const int newest = link.kind == LinkKind::nvlink ? 5 : 6;
  const int generation = link.generation <= 0 ? 3 : std::min(link.generation, newest);
  return assumed_rate(link.kind, generation, std::max(link.width, 1));
}

/// NVML's speed is the signalling rate; so much of it is payload.
constexpr double payload_share = 0.94;

}  // namespace

int Draft::add(NodeKind kind, std::string name, std::string pci) {
  return add_numbered(kind, counts_[kind]++, std::move(name), std::move(pci));
}

int Draft::add_numbered(NodeKind kind, int number, std::string name, std::string pci) {
  Node node;
  node.kind = kind;
  node.index = number;
  node.name = std::move(name);
  node.pci = std::move(pci);
  machine.nodes.push_back(std::move(node));
  return static_cast<int>(machine.nodes.size()) - 1;
}

void Draft::link(Link link) {
  if (!(link.bytes_per_s > 0)) link.bytes_per_s = assumed_rate(link.kind, link.generation, link.width);
  if (!(link.bytes_per_s > 0)) {
    link.bytes_per_s = nearest_known_rate(link);
    link.origin = Origin::assumed;
  }
  if (link.latency_s == 0) link.latency_s = assumed_latency(link.kind);
  machine.links.push_back(link);
}

int usual_nvlink_generation(int compute_major) {
  switch (compute_major) {
    case 6:
      return 1;
    case 7:
      return 2;
    case 8:
      return 3;
    case 9:
      return 4;
    default:
      return compute_major >= 10 ? 5 : 0;
  }
}

void Draft::bond(int a, int b, const Bond& bond, int usual_generation) {
  const bool reported = bond.generation > 0;
  const int generation = reported ? bond.generation : usual_generation;
  double rate = assumed_rate(LinkKind::nvlink, generation, bond.width);
  // A bridge between GeForce or workstation cards is slower than its generation elsewhere.
  const double payload = payload_share * bond.raw_bytes_per_s * bond.width;
  if (payload > 0) rate = rate > 0 ? std::min(rate, payload) : payload;
  // A link to an NVSwitch is half of the way between two GPUs, hence half of its latency.
  const bool half_way = machine.nodes[b].kind == NodeKind::nvswitch;
  link({.a = a,
        .b = b,
        .kind = LinkKind::nvlink,
        .width = bond.width,
        .generation = generation,
        .bytes_per_s = rate,
        .latency_s = assumed_latency(LinkKind::nvlink) * (half_way ? 0.5 : 1),
        .origin = reported ? Origin::reported : Origin::assumed});
}

}  // namespace peerlane::machine

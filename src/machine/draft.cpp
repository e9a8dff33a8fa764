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

}  // namespace peerlane::machine

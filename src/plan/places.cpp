#include <algorithm>

#include "plan/planner.hpp"

namespace peerlane::planner {

std::vector<Place> places(const Machine& machine) {
  std::vector<Place> places;
  for (const Node& node : machine.nodes) {
    if (node.kind == NodeKind::gpu) places.push_back(gpu(node.index));
  }
  std::ranges::sort(places);
  places.push_back(host());
  for (int node : machine.numa_nodes()) places.push_back(host(node));
  places.push_back(mem());
  places.push_back(file());
  return places;
}

}  // namespace peerlane::planner

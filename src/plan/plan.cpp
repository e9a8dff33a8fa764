#include "peerlane/plan.hpp"

#include <algorithm>

namespace peerlane {

std::vector<Place> Route::places() const {
  std::vector<Place> places;
  if (hops.empty()) return places;
  places.reserve(hops.size() + 1);
  places.push_back(hops.front().from);
  for (const Hop& hop : hops) places.push_back(hop.to);
  return places;
}

Drive Plan::drive() const {
  auto host_progressed = [](const Hop& hop) { return hop.drive == Drive::host_progressed; };
  auto needs_workers = [&](const Route& route) { return std::ranges::any_of(route.hops, host_progressed); };
  return std::ranges::any_of(routes, needs_workers) ? Drive::host_progressed : Drive::device_ordered;
}

}  // namespace peerlane

#include "plan/words.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace peerlane::planner {

std::string arrow(Place from, Place to) {
  return to_string(from) + " → " + to_string(to);
}

std::string stops_in_words(const Route& route) {
  std::vector<std::string> stops;
  for (std::size_t i = 0; i + 1 < route.hops.size(); ++i) {
    const Place stop = route.hops[i].to;
    stops.push_back((stop.kind == PlaceKind::gpu ? "relayed over " : "staged through ") + to_string(stop));
  }
  return join(stops);
}

std::string in_words(const Route& route) {
  if (route.hops.size() > 1) return fmt::format("{}, chunks of {}", stops_in_words(route), format_bytes(route.chunk));
  const Hop& hop = route.hops.front();
  return fmt::format("{}, {}", hop.lane, hop.via);
}

}  // namespace peerlane::planner

/// A plan as programs read it: `peerlane.plan/1`. Keys are only ever added.

#include <nlohmann/json.hpp>

#include "peerlane/plan.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(Drive drive) {
  return drive == Drive::device_ordered ? "device-ordered" : "host-progressed";
}

Json to_object(const Route& route) {
  Json places = Json::array(), lanes = Json::array(), via = Json::array(), drives = Json::array();
  for (Place place : route.places()) places.push_back(to_string(place));
  for (const Hop& hop : route.hops) {
    lanes.push_back(hop.lane);
    via.push_back(hop.via);
    drives.push_back(name_of(hop.drive));
  }
  return {{"places", places},
          {"lanes", lanes},
          {"via", via},
          {"drives", drives},
          {"share", route.share},
          {"chunk", route.chunk},
          {"slots", route.slots},
          {"expected_seconds", route.expected_s},
          {"expected_bytes_per_s", route.expected_bytes_per_s}};
}

Json to_array(const std::vector<Route>& routes) {
  Json array = Json::array();
  for (const Route& route : routes) array.push_back(to_object(route));
  return array;
}

Json to_array(const std::vector<Refusal>& refused) {
  Json array = Json::array();
  for (const Refusal& refusal : refused) {
    array.push_back({{"from", to_string(refusal.from)},
                     {"to", to_string(refusal.to)},
                     {"lane", refusal.lane},
                     {"reason", refusal.reason}});
  }
  return array;
}

}  // namespace

std::string to_json(const Plan& plan) {
  const Json json = {{"schema", "peerlane.plan/1"},
                     {"simulated", plan.simulated},
                     {"from", plan.from_name},
                     {"to", plan.to_name},
                     {"bytes", plan.bytes},
                     {"expected_seconds", plan.expected_s},
                     {"direct", plan.direct},
                     {"fallback", plan.fallback.empty() ? Json() : Json(plan.fallback)},
                     {"routes", to_array(plan.routes)},
                     {"next", to_array(plan.next)},
                     {"refused", to_array(plan.refused)}};
  // A path may hold any byte but zero; JSON holds UTF-8 only.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace peerlane

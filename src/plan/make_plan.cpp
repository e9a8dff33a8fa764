#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "base/try.hpp"
#include "plan/planner.hpp"
#include "plan/words.hpp"

namespace peerlane::planner {
namespace {

constexpr std::size_t most_runners_up = 3;

std::string name_of(const std::string& given, Place place) {
  return given.empty() ? to_string(place) : given;
}

Result<void> check_place(const Machine& machine, Place place) {
  const std::vector<Place> known = places(machine);
  if (std::ranges::find(known, place) != known.end()) return {};
  std::vector<std::string> names;
  for (Place one : known) names.push_back(one.kind == PlaceKind::file ? "file:PATH" : to_string(one));
  return fail(ErrorKind::not_found, fmt::format("{} has no such place; it has {}", machine.name, join(names)),
              to_string(place));
}

/// How many hops the best of machines needs between such places.
std::size_t fewest_hops(PlaceKind from, PlaceKind to) {
  auto is_gpu = [](PlaceKind kind) { return kind == PlaceKind::gpu; };
  auto needs_staging = [](PlaceKind kind) { return kind == PlaceKind::mem || kind == PlaceKind::file; };
  if (from == PlaceKind::file && to == PlaceKind::file) return 2;
  return (is_gpu(from) && needs_staging(to)) || (is_gpu(to) && needs_staging(from)) ? 2 : 1;
}

bool is_direct(const Route& route) {
  return route.hops.size() <= fewest_hops(route.hops.front().from.kind, route.hops.back().to.kind);
}

/// Two routes alike in lanes and kinds of places tell a reader nothing new.
bool alike(const Route& a, const Route& b) {
  auto same_step = [](const Hop& one, const Hop& other) {
    return one.lane == other.lane && one.to.kind == other.to.kind;
  };
  return std::ranges::equal(a.hops, b.hops, same_step);
}

std::vector<Route> runners_up(std::span<const Route> routes) {
  std::vector<Route> worth_reading;
  const Route& chosen = routes.front();
  const std::size_t most_hops = std::max<std::size_t>(chosen.hops.size(), 2);
  for (const Route& route : routes.subspan(1)) {
    if (worth_reading.size() == most_runners_up) break;
    auto like_this = [&](const Route& other) { return alike(route, other); };
    if (route.hops.size() > most_hops || like_this(chosen) || std::ranges::any_of(worth_reading, like_this)) continue;
    worth_reading.push_back(route);
  }
  return worth_reading;
}

/// Refusals picked by `matters`, each sentence once.
template <class Matters>
std::vector<Refusal> pick(const std::vector<Refusal>& refused, Matters matters) {
  std::vector<Refusal> picked;
  for (const Refusal& refusal : refused) {
    auto says_the_same = [&](const Refusal& other) { return other.reason == refusal.reason; };
    if (matters(refusal) && std::ranges::none_of(picked, says_the_same)) picked.push_back(refusal);
  }
  return picked;
}

std::vector<Refusal> refused_between(const Hops& hops, Place from, Place to) {
  return pick(hops.refused, [&](const Refusal& refusal) { return refusal.from == from && refusal.to == to; });
}

/// From which end on is there no road? Everything that was refused there.
std::vector<Refusal> refused_at(const Hops& hops, Place from, Place to) {
  return pick(hops.refused, [&](const Refusal& refusal) { return refusal.from == from || refusal.to == to; });
}

tl::unexpected<Error> no_road(const Machine& machine, const Hops& hops, const Request& request) {
  const std::string where = arrow(request.from, request.to);
  Request with_room = request;
  with_room.staging = Request{}.staging;
  if (request.staging < with_room.staging && !find_routes(machine, hops, with_room).empty()) {
    return fail(
        ErrorKind::unavailable,
        fmt::format("every road is staged, and {} of staging memory do not hold two slots of 4 KiB at each stop",
                    format_bytes(request.staging)),
        where, "allow more staging memory");
  }
  std::string sentence = fmt::format("no road on {}", machine.name);
  const char* separator = ": ";
  for (const Refusal& refusal : refused_at(hops, request.from, request.to)) {
    sentence += fmt::format("{}{} by {}: {}", separator, arrow(refusal.from, refusal.to), refusal.lane, refusal.reason);
    separator = "; ";
  }
  return fail(ErrorKind::unavailable, std::move(sentence), where);
}

const Route* direct_one(std::span<const Route> routes) {
  const auto found = std::ranges::find_if(routes, is_direct);
  return found == routes.end() ? nullptr : &*found;
}

std::string why_not_direct(const Plan& plan, std::span<const Route> routes) {
  const std::string ends = fmt::format("from {} to {}", plan.from_name, plan.to_name);
  const std::string instead = stops_in_words(plan.routes.front());
  if (const Route* direct = direct_one(routes)) {
    return fmt::format("the direct road {} ({}) would take {}; {} it takes {}", ends, in_words(*direct),
                       format_seconds(direct->expected_s), instead, format_seconds(plan.expected_s));
  }
  const std::string reason = plan.refused.empty() ? "no lane carries such a copy" : plan.refused.front().reason;
  return fmt::format("no direct road {}: {}; {}", ends, reason, instead);
}

}  // namespace

Result<Plan> make_plan(const Machine& machine, const Hops& hops, const Request& request) {
  PEERLANE_TRY(check_place(machine, request.from));
  PEERLANE_TRY(check_place(machine, request.to));
  const std::vector<Route> routes = find_routes(machine, hops, request);
  if (routes.empty()) return no_road(machine, hops, request);

  Plan plan;
  plan.from = request.from;
  plan.to = request.to;
  plan.from_name = name_of(request.from_name, request.from);
  plan.to_name = name_of(request.to_name, request.to);
  plan.bytes = request.bytes;
  plan.routes = {routes.front()};
  if (request.bytes > 0) plan.next = runners_up(routes);
  plan.refused = refused_between(hops, request.from, request.to);
  plan.expected_s = routes.front().expected_s;
  plan.direct = is_direct(routes.front());
  if (!plan.direct) plan.fallback = why_not_direct(plan, routes);
  plan.simulated = !machine.live;
  return plan;
}

}  // namespace peerlane::planner

/// Every road there is, and what each costs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "machine/paths.hpp"
#include "plan/chunking.hpp"
#include "plan/planner.hpp"

namespace peerlane::planner {
namespace {

constexpr std::size_t most_hops = 3;

/// Hops by the pair of places they join.
class HopIndex {
 public:
  explicit HopIndex(const std::vector<Hop>& hops) {
    sorted_.reserve(hops.size());
    for (const Hop& hop : hops) sorted_.push_back(&hop);
    std::ranges::stable_sort(sorted_, {}, ends);
  }
  auto leaving(Place from) const { return std::ranges::equal_range(sorted_, from, {}, &Hop::from); }
  auto between(Place from, Place to) const { return std::ranges::equal_range(sorted_, std::tuple(from, to), {}, ends); }

 private:
  static std::tuple<Place, Place> ends(const Hop* hop) { return {hop->from, hop->to}; }
  std::vector<const Hop*> sorted_;
};

struct Candidate {
  std::array<const Hop*, most_hops> hops{};
  std::size_t length = 0;
  Chunking chunking;

  std::span<const Hop* const> in_a_row() const { return {hops.data(), length}; }
  Place stop(std::size_t i) const { return i + 1 < length ? hops[i]->to : Place{}; }
  /// Cheapest first, to the picosecond; then fewer hops; then places in order.
  auto rank() const { return std::tuple(std::llround(chunking.seconds * 1e12), length, stop(0), stop(1)); }
};

class RouteSearch {
 public:
  RouteSearch(const Machine& machine, const Hops& hops, const Request& request)
      : machine_(machine), request_(request), index_(hops.hops) {
    if (joins_two_gpus() && !joined_by_nvlink()) most_relays_ = one_gpu_reaches_both() ? 1 : 2;
    may_stop_ = request.from != request.to || index_.between(request.from, request.to).empty();
  }

  std::vector<Candidate> run() {
    extend(request_.from);
    std::ranges::stable_sort(found_, {}, &Candidate::rank);
    return std::move(found_);
  }

 private:
  void extend(Place here) {
    for (const Hop* hop : index_.between(here, request_.to)) {
      if (is_worth_a_hop(*hop)) arrive_by(hop);
    }
    if (!may_stop_ || road_.length + 1 == most_hops) return;
    for (const Hop* hop : index_.leaving(here)) {
      if (!may_stand_between(hop->to) || is_visited(hop->to) || joins_pinned_memory(*hop)) continue;
      road_.hops[road_.length++] = hop;
      extend(hop->to);
      --road_.length;
    }
  }

  void arrive_by(const Hop* hop) {
    Candidate candidate = road_;
    candidate.hops[candidate.length++] = hop;
    auto chunking = best_chunking(candidate.in_a_row(), request_.bytes, request_.staging);
    if (!chunking) return;
    candidate.chunking = *chunking;
    found_.push_back(candidate);
  }

  bool may_stand_between(Place place) const {
    if (place.kind == PlaceKind::gpu) return relays_so_far() < most_relays_;
    const bool names_no_node = place.index == Place::any;
    return place.kind == PlaceKind::host && names_no_node == machine_.numa_nodes().empty();
  }

  bool is_visited(Place place) const {
    auto arrives_there = [&](const Hop* hop) { return hop->to == place; };
    return place == request_.from || place == request_.to || std::ranges::any_of(road_.in_a_row(), arrives_there);
  }

  /// From one NUMA node's pinned memory to another's. As part of a longer road it is never needed: every GPU and every
  /// worker reaches both.
  static bool joins_pinned_memory(const Hop& hop) {
    return hop.from.kind == PlaceKind::host && hop.to.kind == PlaceKind::host;
  }
  bool is_worth_a_hop(const Hop& last) const { return road_.length == 0 || !joins_pinned_memory(last); }

  bool joins_two_gpus() const {
    return request_.from.kind == PlaceKind::gpu && request_.to.kind == PlaceKind::gpu && request_.from != request_.to;
  }

  /// A pair with NVLink of its own keeps to it: a relay may be faster (DGX-1: one link straight, two over a neighbour),
  /// but takes memory and links from whoever works on the GPU between.
  bool joined_by_nvlink() const {
    auto is_nvlink = [&](int id) {
      const auto link = static_cast<std::size_t>(machine::Segment::from_signed_id(id).link);
      return link < machine_.links.size() && machine_.links[link].kind == LinkKind::nvlink;
    };
    auto takes_nvlink = [&](const Hop* hop) { return std::ranges::any_of(hop->segments, is_nvlink); };
    return std::ranges::any_of(index_.between(request_.from, request_.to), takes_nvlink);
  }

  bool one_gpu_reaches_both() const {
    auto reaches_both = [&](const Hop* hop) {
      const bool stands_between = hop->to.kind == PlaceKind::gpu && hop->to != request_.from && hop->to != request_.to;
      return stands_between && !index_.between(hop->to, request_.to).empty();
    };
    return std::ranges::any_of(index_.leaving(request_.from), reaches_both);
  }

  std::ptrdiff_t relays_so_far() const {
    return std::ranges::count_if(road_.in_a_row(), [](const Hop* hop) { return hop->to.kind == PlaceKind::gpu; });
  }

  const Machine& machine_;
  const Request& request_;
  const HopIndex index_;
  std::ptrdiff_t most_relays_ = 0;
  bool may_stop_ = true;
  Candidate road_;  ///< so far
  std::vector<Candidate> found_;
};

Route to_route(const Candidate& candidate, Bytes bytes) {
  Route route;
  route.hops.reserve(candidate.length);
  for (const Hop* hop : candidate.in_a_row()) route.hops.push_back(*hop);
  route.chunk = candidate.chunking.chunk;
  route.slots = candidate.chunking.slots;
  route.expected_s = candidate.chunking.seconds;
  if (route.expected_s > 0) route.expected_bytes_per_s = static_cast<double>(bytes) / route.expected_s;
  return route;
}

}  // namespace

std::vector<Route> find_routes(const Machine& machine, const Hops& hops, const Request& request) {
  const std::vector<Candidate> candidates = RouteSearch(machine, hops, request).run();
  std::vector<Route> routes;
  routes.reserve(candidates.size());
  for (const Candidate& candidate : candidates) routes.push_back(to_route(candidate, request.bytes));
  return routes;
}

}  // namespace peerlane::planner

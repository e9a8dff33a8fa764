#pragma once
/// Chooses roads. Pure: values in, values out.

#include <functional>
#include <span>
#include <vector>

#include "peerlane/machine.hpp"
#include "peerlane/plan.hpp"

namespace peerlane::planner {

struct Request {
  Place from;
  Place to;
  std::string from_name;
  std::string to_name;
  Bytes bytes = 0;
  Bytes staging = 64_MiB;  ///< most that the rings of one route may hold, together
};

/// What the lanes offer on this machine, once; planning then is arithmetic.
struct Hops {
  std::vector<Hop> hops;
  std::vector<Refusal> refused;
};

/// Where bytes can live on this machine: every GPU, `host`, every `host:N`, `mem`, `file`. The places to ask lanes
/// about.
std::vector<Place> places(const Machine& machine);

/// Time of a route for this many bytes when chunks of `chunk` flow through it: the first chunk passes every hop, then
/// the slowest hop (or segment that several hops share, or the workers that all host-progressed hops share) sets the
/// pace.
double pipelined_seconds(std::span<const Hop> hops, Bytes bytes, Bytes chunk);

/// Every simple route of at most three hops, each with its best chunk, cheapest first for this size. Between the ends
/// stand pinned memory and, only between two GPUs that no NVLink joins, another GPU (two, where no single one reaches
/// both). No staged one where the staging limit does not hold two slots of 4 KiB per ring.
std::vector<Route> find_routes(const Machine& machine, const Hops& hops, const Request& request);

/// The plan: the cheapest route, runners-up that differ in a way worth reading, refusals that matter for this pair.
/// `unavailable` when no road leads from `from` to `to`, with every refusal's sentence.
Result<Plan> make_plan(const Machine& machine, const Hops& hops, const Request& request);

}  // namespace peerlane::planner

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

/// Time of a route for this many bytes when chunks of `chunk` flow through it: the first chunk passes every hop, then
/// the slowest hop (or segment that several hops share) sets the pace.
double pipelined_seconds(std::span<const Hop> hops, Bytes bytes, Bytes chunk);

/// Every simple route of at most three hops, each with its best chunk, cheapest first for this size.
std::vector<Route> find_routes(const Machine& machine, const Hops& hops, const Request& request);

/// The plan: the cheapest route, runners-up that differ in a way worth reading, refusals that matter for this pair.
/// `unavailable` when no road leads from `from` to `to`, with every refusal's sentence.
Result<Plan> make_plan(const Machine& machine, const Hops& hops, const Request& request);

}  // namespace peerlane::planner

#pragma once
/// How large the pieces are that a route carries, and how many of them its rings hold.

#include <optional>
#include <span>

#include "peerlane/plan.hpp"

namespace peerlane::planner {

struct Chunking {
  Bytes chunk = 0;
  int slots = 0;  ///< 0 for a single hop
  double seconds = 0;
};

/// The fastest chunking for this size; nothing when `staging` does not hold two slots of 4 KiB in every ring.
std::optional<Chunking> best_chunking(std::span<const Hop* const> hops, Bytes bytes, Bytes staging);

}  // namespace peerlane::planner

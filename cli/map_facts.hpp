#pragma once
/// What the map says beneath its matrix.

#include <string>
#include <vector>

#include "peerlane/session.hpp"

namespace peerlane::cli {

/// The best plan of every ordered pair of GPUs that has one.
std::vector<Plan> plans_between_gpus(const Session& session, Bytes bytes);

/// Pairs that are alike, with three columns of truth: what is claimed, what was verified, what was measured.
std::string truths(const Machine& machine, const std::vector<Plan>& plans);
/// Which NICs stand nearest to each GPU; empty for a machine without NICs.
std::string nearest_nics(const Machine& machine);
/// Links that several pairs' roads take in one direction, so that copies at the same time halve each other.
std::string shared_segments(const Machine& machine, const std::vector<Plan>& plans);

}  // namespace peerlane::cli

#pragma once
/// Roads in words.

#include <string>

#include "peerlane/plan.hpp"

namespace peerlane::planner {

/// "gpu:0 → gpu:1"
std::string arrow(Place from, Place to);

/// "staged through host:0", "relayed over gpu:3", "relayed over gpu:3 and staged through host:0"; empty for a single
/// hop.
std::string stops_in_words(const Route& route);

/// "copy engine, NVLink 4 ×18" or "staged through host:0, chunks of 16 MiB".
std::string in_words(const Route& route);

}  // namespace peerlane::planner

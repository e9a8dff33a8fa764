#pragma once

#include "peerlane/machine.hpp"
#include "peerlane/place.hpp"

namespace peerlane::lanes {

/// `host`, or a `host:N` that this machine has.
inline bool is_pinned_here(const Machine& machine, Place place) {
  if (place.kind != PlaceKind::host) return false;
  return place.index == Place::any || machine.find(NodeKind::numa, place.index).has_value();
}

inline bool is_host_memory_here(const Machine& machine, Place place) {
  return place.kind == PlaceKind::mem || is_pinned_here(machine, place);
}

}  // namespace peerlane::lanes

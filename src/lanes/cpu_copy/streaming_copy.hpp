#pragma once

#include "peerlane/units.hpp"

namespace peerlane::lanes {

/// Copies past the caches where the CPU has AVX2, else as memcpy does. The two spans do not overlap. What it wrote is
/// visible to every core and device once it returns.
void streaming_copy(void* to, const void* from, Bytes bytes);

}  // namespace peerlane::lanes

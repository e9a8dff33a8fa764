#pragma once
/// Several files that describe one machine become one.

#include <span>

#include "importers/said.hpp"

namespace peerlane::importers {

/// What all of them say. Devices are the same where PCI address, UUID, name or number say so; GPUs are numbered from 0
/// without a gap; where two files disagree the first is believed, and a note says so. The tree is that of the first
/// file that has one.
Said merge(std::span<const Said> files);

}  // namespace peerlane::importers

#pragma once
/// A machine while it is being joined from facts.

#include "discover/facts.hpp"
#include "machine/draft.hpp"

namespace peerlane::discover {

using machine::Draft;

/// What NVML knows of a CUDA GPU; null where it does not know it.
const NvmlGpuFacts* nvml_of(const Facts& facts, const GpuFacts& gpu);
/// What NVML knows of a pair of CUDA GPUs.
const NvmlPairFacts* nvml_of(const Facts& facts, const GpuFacts& from, const GpuFacts& to);

// The steps of joining, in their order; each adds its part to the draft.
void add_gpus(Draft& draft, const Facts& facts);
void grow_tree(Draft& draft, const Facts& facts);
void string_nvlinks(Draft& draft, const Facts& facts);
void claim_pairs(Draft& draft, const Facts& facts);
void add_notes(Draft& draft, const Facts& facts);

}  // namespace peerlane::discover

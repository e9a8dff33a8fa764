#pragma once
/// What files say of a machine becomes a Machine.

#include "importers/said.hpp"
#include "machine/draft.hpp"

namespace peerlane::importers {

/// The machine that one Said (see merge.hpp) describes. What it does not say is assumed and marked so, and a note says
/// what matters of it.
Machine join(const Said& said);

/// Adds what files say to a machine that is complete without them; contradictions become notes.
void overlay(Machine& machine, const Said& said);

// The steps of joining, in their order. A device's node is `nodes[index]`, -1 while it has none.
struct Joining {
  const Said& said;
  machine::Draft draft;
  std::vector<int> nodes;
};
void place_cpus(Joining& joining);
/// By the file's PCI tree.
void grow_tree(Joining& joining);
/// Where there is no tree: one that agrees with the letters between devices.
void guess_tree(Joining& joining);
void string_nvlinks(Joining& joining);
void claim_pairs(Joining& joining);

}  // namespace peerlane::importers

#pragma once
/// What files say of a machine becomes a Machine.

#include "importers/said.hpp"
#include "machine/draft.hpp"

namespace peerlane::importers {

/// The machine that one Said (see merge.hpp) describes. What it does not say is assumed and marked so, and a note says
/// what matters of it.
Machine join(Said said);

/// Adds what files say to a machine that is complete without them; contradictions become notes.
void overlay(Machine& machine, const Said& said);

// The steps of joining, in their order. A device's node is `nodes[index]`, -1 while it has none.
struct Joining {
  const Said& said;
  machine::Draft draft;
  std::vector<int> nodes;
};
/// Where letters tell that devices are far apart and nothing numbers their NUMA nodes: numbers for those. Before all.
void number_numa(Said& said);
/// One socket for each NUMA node, unless a file says which nodes share one.
void place_cpus(Joining& joining);
/// By the file's PCI tree.
void grow_tree(Joining& joining);
/// Where there is no tree: one that agrees with the letters between devices.
void guess_tree(Joining& joining);
void string_nvlinks(Joining& joining);
void claim_pairs(Joining& joining);

/// The node of a device.
int add_device(Joining& joining, int index);
/// The PCIe link from a device's node, or a bridge's, up to `above`.
void plug(Joining& joining, int node, int above, const SaidDevice& device);
int add_port(Joining& joining, int socket, const std::string& pci);
/// Node of the socket that a NUMA node belongs to; the first one where that is not known.
int socket_of(const Joining& joining, int numa);

/// 4 of "NV4"; 0 of letters that are no NVLink's.
int nvlinks_in(std::string_view letters);
/// "NIC3" where a NIC has a number only.
std::string nic_name(const SaidDevice& device);
/// Why there is no peer access, for a status of `nvidia-smi topo -p2p`; empty for "OK" and what we do not know.
std::string words_of_status(std::string_view status);

}  // namespace peerlane::importers

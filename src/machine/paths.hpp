#pragma once
/// The way through the machine's links, by the rules of the hardware.

#include <optional>
#include <string>
#include <vector>

#include "peerlane/machine.hpp"
#include "peerlane/place.hpp"

namespace peerlane::machine {

/// A link taken in one direction.
struct Segment {
  int link = 0;
  bool forward = true;  ///< from Link::a to Link::b

  /// As Hop::segments writes it.
  int signed_id() const { return forward ? link + 1 : -(link + 1); }
  static Segment from_signed_id(int id) { return id > 0 ? Segment{id - 1, true} : Segment{-id - 1, false}; }
};

struct Path {
  std::vector<Segment> segments;
  double bytes_per_s = 0;  ///< of its slowest link
  double latency_s = 0;
  LinkKind kind = LinkKind::pcie;  ///< of its slowest NVLink, PCIe or C2C link; of the slowest at all where none is
  int width = 0;                   ///< likewise
  int generation = 0;
  bool crosses_sockets = false;  ///< takes a link between CPU sockets
};

/// Over NVLink alone: straight, or through NVSwitches; never through another GPU.
std::optional<Path> nvlink_path(const Machine& machine, int from_gpu, int to_gpu);

/// Over PCIe and what joins PCIe trees (root, socket links), never over NVLink and never through a GPU or NIC.
std::optional<Path> pcie_path(const Machine& machine, int from_gpu, int to_gpu);

/// Between a GPU and the memory of a NUMA node (C2C where there is one, else PCIe). `to_host` is the direction.
/// node -1: the nearest.
std::optional<Path> host_path(const Machine& machine, int gpu, int numa_node, bool to_host);

/// The NUMA node nearest to a GPU; the first one where nothing is known; -1 in a machine without any.
int nearest_numa(const Machine& machine, int gpu);

/// NVIDIA's letters for the PCIe way between two nodes (indices into Machine::nodes): PIX through one switch, PXB
/// through several, PHB through one host bridge (root ports on the same PCI bus), NODE within a NUMA node, SYS across
/// NUMA nodes; empty where no way is known.
std::string pcie_letters(const Machine& machine, int node_a, int node_b);

/// Fills Machine::near from the links.
void claim_nearness(Machine& machine);

/// "NVLink 4 ×18", "PCIe 5 ×16", "PCIe 4 ×16 and socket link".
std::string describe(const Path& path);

/// What one large copy gets from such a link, per direction, all of `width`: measured where we know, else the share of
/// the nominal rate that its neighbours reach. 0 when kind and generation say nothing.
double assumed_rate(LinkKind kind, int generation, int width);
/// The whole way between two GPUs for NVLink: a link that ends at an NVSwitch is half of it (`Builder` does so).
double assumed_latency(LinkKind kind);

/// What the copy engine itself adds to every copy: a 4 KiB peer copy takes 1.86 µs back to back on two H200, and that
/// is this plus the link's latency.
inline constexpr double copy_engine_overhead_s = 1.4e-6;

/// Can flows of different devices meet on this link? Not on one that ends at a device.
bool is_shared(const Machine& machine, const Link& link);

}  // namespace peerlane::machine

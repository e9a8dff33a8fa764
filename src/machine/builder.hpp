#pragma once
/// Builds a Machine part by part; figures that nobody names are the assumed ones of paths.hpp.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "peerlane/machine.hpp"

namespace peerlane::machine {

struct GpuModel {
  std::string_view name;
  Bytes memory;
  double memory_bytes_per_s;  ///< nominal, as on the data sheet
  int compute_major;
  int compute_minor;
  int copy_engines;
};

/// A PCIe slot: what a card is plugged into and how.
struct Slot {
  int above;  ///< node of the switch or root port
  int generation;
  int width;
};

class Builder {
 public:
  Builder(std::string_view name, int cuda_version, HostRates host);

  /// A CPU socket and its NUMA nodes, numbered on; `bytes_per_s` is what the memory of one node delivers.
  int socket(int numa_nodes, Bytes memory_each, double bytes_per_s);
  void join_sockets(int a, int b, double bytes_per_s);
  int port(int socket, std::string_view pci);
  int pcie_switch(Slot slot);
  int gpu(const GpuModel& model, Slot slot, std::string_view pci, int numa);
  int nic(std::string_view name, Slot slot, std::string_view pci, int numa);
  int drive(std::string_view name, Slot slot, std::string_view pci, int numa);
  int nvswitch(std::string_view name);

  /// Between two GPUs, or a GPU and an NVSwitch.
  void nvlink(int a, int b, int generation, int width);
  /// Likewise, for bonds whose rate is not their generation's.
  void nvlink(int a, int b, int generation, int width, double bytes_per_s);

  /// Why a pair of GPUs that has no NVLink has no peer access either; empty: it has, over PCIe.
  using WhyClosed = std::function<std::string(const Machine&, int from, int to)>;
  /// The machine with its pairs.
  Machine finish(const WhyClosed& why_closed) &&;

 private:
  int add(NodeKind kind, std::string_view name);
  int plug(int node, Slot slot, std::string_view pci, int numa);
  void link(Link link);

  Machine machine_;
};

}  // namespace peerlane::machine

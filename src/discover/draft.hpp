#pragma once
/// A machine while it is being joined from facts.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "discover/facts.hpp"
#include "peerlane/machine.hpp"

namespace peerlane::discover {

class Draft {
 public:
  Machine machine;

  /// Adds a node and numbers it within its kind; index of the node.
  int add(NodeKind kind, std::string name, std::string pci = "");
  /// As above, with a number that the operating system or CUDA gave.
  int add_numbered(NodeKind kind, int number, std::string name, std::string pci = "");
  /// Adds a link; a rate of 0 is filled with what such links reach.
  void link(Link link);
  void note(std::string sentence) { machine.notes.push_back(std::move(sentence)); }

  /// Node of a GPU, by its ordinal.
  int gpu(int ordinal) const { return *machine.find(NodeKind::gpu, ordinal); }

 private:
  std::map<NodeKind, int> counts_;
};

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

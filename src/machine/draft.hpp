#pragma once
/// A machine while it is being joined from what probes or files say.

#include <map>
#include <string>

#include "peerlane/machine.hpp"

namespace peerlane::machine {

/// NVLinks that run side by side to the same far end.
struct Bond {
  int width = 0;
  int generation = 0;          ///< 0 unknown
  double raw_bytes_per_s = 0;  ///< of one link: the signalling rate; 0 unknown
};

/// Of GPUs of this compute capability; 0 unknown.
int usual_nvlink_generation(int compute_major);

class Draft {
 public:
  Machine machine;

  /// Adds a node and numbers it within its kind; index of the node.
  int add(NodeKind kind, std::string name, std::string pci = "");
  /// As above, with a number that the operating system or CUDA gave.
  int add_numbered(NodeKind kind, int number, std::string name, std::string pci = "");
  /// Adds a link; a rate of 0 is filled with what such links reach, the nearest known one where that is not known.
  void link(Link link);
  /// Adds a bond between two GPUs or a GPU and an NVSwitch; `usual_generation` where the bond does not know its own.
  void bond(int a, int b, const Bond& bond, int usual_generation);
  void note(std::string sentence) { machine.notes.push_back(std::move(sentence)); }

  /// Node of a GPU, by its ordinal.
  int gpu(int ordinal) const { return *machine.find(NodeKind::gpu, ordinal); }

 private:
  std::map<NodeKind, int> counts_;
};

}  // namespace peerlane::machine

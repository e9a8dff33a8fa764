#pragma once
/// A machine while it is being joined from what probes or files say.

#include <map>
#include <string>

#include "peerlane/machine.hpp"

namespace peerlane::machine {

class Draft {
 public:
  Machine machine;

  /// Adds a node and numbers it within its kind; index of the node.
  int add(NodeKind kind, std::string name, std::string pci = "");
  /// As above, with a number that the operating system or CUDA gave.
  int add_numbered(NodeKind kind, int number, std::string name, std::string pci = "");
  /// Adds a link; a rate of 0 is filled with what such links reach, the nearest known one where that is not known.
  void link(Link link);
  void note(std::string sentence) { machine.notes.push_back(std::move(sentence)); }

  /// Node of a GPU, by its ordinal.
  int gpu(int ordinal) const { return *machine.find(NodeKind::gpu, ordinal); }

 private:
  std::map<NodeKind, int> counts_;
};

}  // namespace peerlane::machine

#pragma once
/// The two forms of lspci's output: the list, with or without details, and the tree.

#include "importers/lines.hpp"
#include "importers/pci_functions.hpp"

namespace peerlane::importers {

/// "01:00.0 3D controller [0302]: …" and the indented lines below each.
std::vector<PciFunction> read_pci_list(const std::vector<Line>& lines);

struct PciTree {
  std::vector<PciFunction> functions;  ///< `above` is filled
  std::vector<std::string> notes;
};

/// "-[0000:00]-+-01.1-[01]--+-00.0", drawn with columns.
PciTree read_pci_tree(const std::vector<Line>& lines);

}  // namespace peerlane::importers

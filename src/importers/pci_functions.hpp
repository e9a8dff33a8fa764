#pragma once
/// PCI functions, as lspci, hwloc and the kernel list them, become the devices that matter and the bridges above them.

#include <string>
#include <string_view>
#include <vector>

#include "importers/said.hpp"

namespace peerlane::importers {

struct PciFunction {
  SaidDevice device;      ///< its kind is decided by `add_functions`, but for bridges; `above` is an index in the list
  int class_id = -1;      ///< 0x0302; -1 not said
  int vendor_id = 0;      ///< 0x10de; 0 not said
  std::string described;  ///< "NVIDIA Corporation GA100 [A100 SXM4 80GB]"; empty not said
  int secondary = -1;     ///< bridges: number of the bus below
  bool link_is_below = false;  ///< root and downstream ports: `pcie` is of the link below them
  bool redirects = false;      ///< bridges: ACS sends peers' traffic up to the root complex
  bool virtual_function = false;
};

enum class Ancestry {
  unknown,   ///< a plain list
  by_bus,    ///< of bridges the bus below is known
  by_index,  ///< `above` is filled; a bridge stands before what hangs on it
};

/// Adds GPUs, NICs, drives, NVSwitches, what nobody describes, and the bridges above them. Virtual functions of a NIC
/// that is listed itself stand for nothing of their own.
void add_functions(Said& said, std::vector<PciFunction> functions, Ancestry ancestry);

/// "NVIDIA GA100 [A100 SXM4 80GB]" of "NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)".
std::string short_name(std::string_view described);

}  // namespace peerlane::importers

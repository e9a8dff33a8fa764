#pragma once
/// What the writer and the reader of machine files agree on.

#include <array>
#include <string_view>

#include "machine/words.hpp"

namespace peerlane::machine {

inline constexpr std::string_view schema_name = "peerlane.machine/";
inline constexpr std::string_view schema = "peerlane.machine/1";

/// The list that holds the nodes of each kind; a loaded machine has its nodes in this order.
inline constexpr std::array node_lists = {
    Word{NodeKind::gpu, "gpus"},
    Word{NodeKind::numa, "numa"},
    Word{NodeKind::socket, "sockets"},
    Word{NodeKind::root_port, "ports"},
    Word{NodeKind::pcie_switch, "switches"},
    Word{NodeKind::nvswitch, "nvswitches"},
    Word{NodeKind::nic, "nics"},
    Word{NodeKind::drive, "drives"},
    Word{NodeKind::device, "devices"},
};

}  // namespace peerlane::machine

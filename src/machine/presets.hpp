#pragma once
/// Machines that need no file. Each is one function that reads as its block diagram.

#include "peerlane/machine.hpp"

namespace peerlane::machine {

Machine dgx_1_v100();
Machine dgx_2();
Machine dgx_a100();
Machine dgx_h100();
Machine hgx_h200();

Machine pcie_2socket_4gpu();
Machine rtx3090_pair();
Machine rtx4090_4();
Machine laptop_1gpu();

}  // namespace peerlane::machine

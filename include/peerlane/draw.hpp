#pragma once
/// A drawing of a machine.

#include <string>

#include "peerlane/machine.hpp"

namespace peerlane {

/// An SVG document: sockets, switches, GPUs, NICs, drives, and the links between them with width and rate.
std::string to_svg(const Machine& machine);

}  // namespace peerlane

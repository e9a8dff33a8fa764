#include <algorithm>

#include "machine/paths.hpp"

namespace peerlane::machine {
namespace {

/// One NVLink, one direction.
double nvlink_rate(int generation) {
  switch (generation) {
    case 1:
      return 19.3e9;  // 20 nominal, at the share that generation 2 reaches
    case 2:
      return 24.15e9;  // measured on four V100: 24.2 over one link, 48.3 over two
    case 3:
      return 21.7e9;  // measured on A100 behind NVSwitch: 520 both ways over twelve
    case 4:
      return 22.0e9;  // measured on two H200: 396 over eighteen
    case 5:
    case 6:
      return 44.0e9;  // 50 nominal, at the share that generation 4 reaches
    default:
      return 0;
  }
}

/// Sixteen PCIe lanes, one direction, pinned memory and large copies.
double pcie_rate_x16(int generation) {
  switch (generation) {
    case 1:
      return 3.0e9;  // 4.0 nominal, at the share that generation 3 reaches
    case 2:
      return 6.1e9;  // 8.0 nominal, likewise
    case 3:
      return 12.0e9;  // measured: 11 to 12.5 on several machines
    case 4:
      return 26.3e9;  // measured on RTX 6000 Ada behind EPYC
    case 5:
      return 55.4e9;  // measured on H200
    case 6:
      return 106e9;  // 121 nominal, at the share that generation 5 reaches
    default:
      return 0;
  }
}

}  // namespace

double assumed_rate(LinkKind kind, int generation, int width) {
  switch (kind) {
    case LinkKind::nvlink:
      return nvlink_rate(generation) * std::max(width, 0);
    case LinkKind::pcie:
      return pcie_rate_x16(generation) * std::max(width, 0) / 16;
    case LinkKind::root:
      return 200e9;  // the CPU's own mesh: never what limits a copy
    case LinkKind::memory:
      return 100e9;  // a socket's worth of DDR4
    case LinkKind::socket:
      return 16e9;  // what NCCL plans with on EPYC; Intel's span 6 to 40
    case LinkKind::c2c:
      return 396e9;  // 450 nominal, at the share that NVLink 4 reaches
    case LinkKind::xgmi:
      return 44e9 * std::max(width, 0);  // one link of an MI300X, 50 to 64 nominal; nothing of AMD's was measured
  }
  return 0;
}

double assumed_latency(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
    case LinkKind::xgmi:
      return 0.45e-6;
    case LinkKind::pcie:
    case LinkKind::c2c:
      return 0.3e-6;
    case LinkKind::root:
    case LinkKind::memory:
      return 0.1e-6;
    case LinkKind::socket:
      return 0.15e-6;
  }
  return 0;
}

bool is_shared(const Machine& machine, const Link& link) {
  const auto is_device = [&](int node) {
    const NodeKind kind = machine.nodes[node].kind;
    return kind == NodeKind::gpu || kind == NodeKind::nic || kind == NodeKind::drive;
  };
  return !is_device(link.a) && !is_device(link.b);
}

}  // namespace peerlane::machine

#pragma once
/// Facts of machines, written by hand.

#include <string>
#include <vector>

#include "discover/facts.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::discover::made {

inline std::string pci(int bus) {
  constexpr char digits[] = "0123456789abcdef";
  return std::string("0000:") + digits[bus / 16] + digits[bus % 16] + ":00.0";
}

inline GpuFacts h200(int ordinal) {
  GpuFacts gpu;
  gpu.ordinal = ordinal;
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-" + std::to_string(ordinal);
  gpu.pci = pci(0x10 + ordinal);
  gpu.memory = 150'000'000'000;
  gpu.compute_major = 9;
  gpu.copy_engines = 3;
  gpu.memory_clock_hz = 3.201e9;
  gpu.memory_bus_bits = 6144;
  return gpu;
}

inline GpuFacts rtx3090(int ordinal) {
  GpuFacts gpu = h200(ordinal);
  gpu.name = "NVIDIA GeForce RTX 3090";
  gpu.compute_major = 8;
  gpu.compute_minor = 6;
  gpu.memory_clock_hz = 9.751e9;
  gpu.memory_bus_bits = 384;
  return gpu;
}

inline NvmlGpuFacts seen_by_nvml(const GpuFacts& gpu, int index) {
  NvmlGpuFacts facts;
  facts.index = index;
  facts.uuid = gpu.uuid;
  facts.pci = gpu.pci;
  facts.pcie = {gpu.compute_major >= 9 ? 5 : 4, 16, gpu.compute_major >= 9 ? 5 : 4, 16};
  return facts;
}

inline NvlinkFacts link_to_switch() {
  return {true, 4, 26.562e9, FarEnd::nvswitch, "0000:c1:00.0"};
}
inline NvlinkFacts link_to_gpu(const std::string& pci, int generation, double raw) {
  return {true, generation, raw, FarEnd::gpu, pci};
}

/// The facts of `count` GPUs, with every pair claimed as told.
inline Facts machine(std::vector<GpuFacts> gpus, Claim access, Claim atomics) {
  Facts facts;
  facts.driver.cuda_version = 13000;
  facts.nvml.available = true;
  facts.nvml.driver = "580.159.04";
  facts.host.cores = 32;
  facts.host.numa = {{0, 64_GiB, 0}};
  for (const GpuFacts& gpu : gpus) {
    facts.nvml.gpus.push_back(seen_by_nvml(gpu, gpu.ordinal));
    for (const GpuFacts& peer : gpus) {
      if (gpu.ordinal == peer.ordinal) continue;
      facts.driver.pairs.push_back({gpu.ordinal, peer.ordinal, access, atomics});
      NvmlPairFacts pair;
      pair.from = gpu.ordinal;
      pair.to = peer.ordinal;
      facts.nvml.pairs.push_back(pair);
    }
  }
  facts.driver.gpus = std::move(gpus);
  return facts;
}

/// Two H200 of a virtual machine: eighteen links each into a switch, no PCI tree.
inline Facts two_h200() {
  Facts facts = machine({h200(0), h200(1)}, Claim::yes, Claim::yes);
  for (NvmlGpuFacts& gpu : facts.nvml.gpus) gpu.links.assign(18, link_to_switch());
  for (NvmlPairFacts& pair : facts.nvml.pairs) {
    pair.read = pair.write = pair.nvlink = nvml::p2p_ok;
    pair.pci = nvml::p2p_chipset;
    pair.ancestor = nvml::topology_node;
  }
  return facts;
}

/// A root port on each socket, a switch of one upward and three downward ports below it: two GPUs and a NIC each, and
/// an NVMe drive straight at a port of its own on the first socket.
inline Facts two_sockets_four_gpus() {
  Facts facts = machine({rtx3090(0), rtx3090(1), rtx3090(2), rtx3090(3)}, Claim::no, Claim::no);
  facts.nvml = {};
  facts.nvml.available = true;
  HostFacts& host = facts.host;
  host.sockets = 2;
  host.numa = {{0, 128_GiB, 0}, {1, 128_GiB, 1}};
  const PcieFacts gen4{4, 16, 4, 16};
  for (int socket = 0; socket < 2; ++socket) {
    const int bus = socket * 0x80;
    const auto add = [&](PciKind kind, std::string address, std::string name, int above, PcieFacts pcie) {
      host.pci.push_back({kind, std::move(address), std::move(name), above, socket, socket, pcie});
      return static_cast<int>(host.pci.size()) - 1;
    };
    const int port = add(PciKind::bridge, pci(bus + 1), "", -1, {5, 16, 4, 16});
    const int up = add(PciKind::bridge, pci(bus + 2), "", port, gen4);
    for (int slot = 0; slot < 2; ++slot) {
      GpuFacts& gpu = facts.driver.gpus[socket * 2 + slot];
      gpu.pci = pci(bus + 0x10 + slot);
      const int down = add(PciKind::bridge, pci(bus + 4 + slot), "", up, gen4);
      add(PciKind::gpu, gpu.pci, "", down, gen4);
    }
    const int down = add(PciKind::bridge, pci(bus + 8), "", up, gen4);
    add(PciKind::nic, pci(bus + 0x20), "mlx5_" + std::to_string(socket), down, {4, 16, 4, 16});
  }
  host.pci.push_back({PciKind::bridge, pci(0x40), "", -1, 0, 0, {4, 4, 4, 4}});
  host.pci.push_back({PciKind::drive, pci(0x41), "nvme0n1", static_cast<int>(host.pci.size()) - 1, 0, 0, {5, 4, 4, 4}});
  return facts;
}

}  // namespace peerlane::discover::made

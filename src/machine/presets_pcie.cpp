#include <fmt/format.h>

#include <array>

#include "machine/builder.hpp"
#include "machine/paths.hpp"
#include "machine/presets.hpp"

namespace peerlane::machine {
namespace {

constexpr GpuModel rtx_6000_ada = {"NVIDIA RTX 6000 Ada Generation", 48_GiB, 960e9, 8, 9, 2};
constexpr GpuModel rtx_3090 = {"NVIDIA GeForce RTX 3090", 24_GiB, 936e9, 8, 6, 2};
constexpr GpuModel rtx_4090 = {"NVIDIA GeForce RTX 4090", 24_GiB, 1008e9, 8, 9, 2};
constexpr GpuModel rtx_4060_laptop = {"NVIDIA GeForce RTX 4060 Laptop GPU", 8_GiB, 256e9, 8, 9, 1};

constexpr int recent_cuda = 13000;
constexpr double xgmi_rome = 16e9;

std::string only_below_one_switch(const Machine& machine, int from, int to) {
  const int a = *machine.find(NodeKind::gpu, from);
  const int b = *machine.find(NodeKind::gpu, to);
  if (pcie_letters(machine, a, b) == "PIX") return "";
  return fmt::format("gpu:{} and gpu:{} stand at different CPU sockets, and peer access over PCIe ends at the socket",
                     from, to);
}

std::string geforce(const Machine&, int from, int to) {
  return fmt::format(
      "gpu:{} and gpu:{} share no NVLink, and the driver opens no peer access over PCIe between GeForce GPUs", from,
      to);
}

}  // namespace

Machine pcie_2socket_4gpu() {
  constexpr std::array switch_ports = {"0000:40:01.1", "0000:c0:01.1"};
  constexpr std::array card_ports = {"0000:20:01.1", "0000:a0:01.1"};
  constexpr std::array drive_ports = {"0000:20:03.1", "0000:a0:03.1"};
  constexpr std::array gpus = {"0000:43:00.0", "0000:44:00.0", "0000:c3:00.0", "0000:c4:00.0"};
  constexpr std::array nics = {"0000:21:00.0", "0000:a1:00.0"};
  constexpr std::array drives = {"0000:22:00.0", "0000:a2:00.0"};
  Builder build("pcie-2socket-4gpu", recent_cuda, {9e9, 3.5e9, 1.75e9, 8});
  const std::array sockets = {build.socket(1, 256_GiB, 160e9), build.socket(1, 256_GiB, 160e9)};
  build.join_sockets(sockets[0], sockets[1], xgmi_rome);
  for (int numa = 0; numa < 2; ++numa) {
    const int below = build.pcie_switch({build.port(sockets[numa], switch_ports[numa]), 4, 16});
    for (int i = 2 * numa; i < 2 * numa + 2; ++i) build.gpu(rtx_6000_ada, {below, 4, 16}, gpus[i], numa);
    build.nic(fmt::format("mlx5_{}", numa), {build.port(sockets[numa], card_ports[numa]), 4, 16}, nics[numa], numa);
    build.drive(fmt::format("nvme{}n1", numa), {build.port(sockets[numa], drive_ports[numa]), 4, 4}, drives[numa],
                numa);
  }
  return std::move(build).finish(only_below_one_switch);
}

Machine rtx3090_pair() {
  // A bridge link carries 14.06 of a data-centre link's 25 GB/s; assumed to reach the share that NVLink 4 reaches.
  constexpr double bridge = 4 * 14.06e9 * 0.88;
  Builder build("rtx3090-pair", recent_cuda, {10e9, 3e9, 1.5e9, 4});
  const int socket = build.socket(1, 64_GiB, 42e9);
  const int left = build.gpu(rtx_3090, {build.port(socket, "0000:00:01.1"), 4, 8}, "0000:0b:00.0", 0);
  const int right = build.gpu(rtx_3090, {build.port(socket, "0000:00:01.2"), 4, 8}, "0000:0c:00.0", 0);
  build.nvlink(left, right, 3, 4, bridge);
  build.drive("nvme0n1", {build.port(socket, "0000:00:01.3"), 4, 4}, "0000:01:00.0", 0);
  return std::move(build).finish(geforce);
}

Machine rtx4090_4() {
  constexpr std::array root_ports = {"0000:00:01.1", "0000:40:01.1", "0000:80:01.1", "0000:c0:01.1"};
  constexpr std::array gpus = {"0000:01:00.0", "0000:41:00.0", "0000:81:00.0", "0000:c1:00.0"};
  Builder build("rtx4090-4", recent_cuda, {9e9, 3.5e9, 1.75e9, 8});
  const int socket = build.socket(1, 256_GiB, 160e9);
  for (int i = 0; i < 4; ++i) build.gpu(rtx_4090, {build.port(socket, root_ports[i]), 4, 16}, gpus[i], 0);
  build.drive("nvme0n1", {build.port(socket, "0000:40:03.1"), 4, 4}, "0000:42:00.0", 0);
  return std::move(build).finish(geforce);
}

Machine laptop_1gpu() {
  Builder build("laptop-1gpu", recent_cuda, {8e9, 2.5e9, 1.25e9, 4});
  const int socket = build.socket(1, 16_GiB, 60e9);
  build.gpu(rtx_4060_laptop, {build.port(socket, "0000:00:01.1"), 4, 8}, "0000:01:00.0", 0);
  build.drive("nvme0n1", {build.port(socket, "0000:00:02.1"), 4, 4}, "0000:02:00.0", 0);
  return std::move(build).finish(geforce);
}

}  // namespace peerlane::machine

#include <fmt/format.h>

#include <array>

#include "machine/builder.hpp"
#include "machine/presets.hpp"

namespace peerlane::machine {
namespace {

constexpr GpuModel v100_sxm2 = {"Tesla V100-SXM2-32GB", 32_GiB, 900e9, 7, 0, 5};
constexpr GpuModel v100_sxm3 = {"Tesla V100-SXM3-32GB", 32_GiB, 980e9, 7, 0, 5};
constexpr GpuModel a100_sxm4 = {"NVIDIA A100-SXM4-80GB", 80_GiB, 2039e9, 8, 0, 3};
constexpr GpuModel h100_sxm5 = {"NVIDIA H100 80GB HBM3", 80_GiB, 3350e9, 9, 0, 3};
constexpr GpuModel h200_sxm5 = {"NVIDIA H200", 140_GiB, 4800e9, 9, 0, 3};

/// CUDA 13 no longer knows Volta.
constexpr int last_cuda_for_volta = 12090;
constexpr int recent_cuda = 13000;

/// What NCCL plans with between two sockets of these makes.
constexpr double upi_broadwell = 10e9;
constexpr double upi_skylake = 20e9;
constexpr double upi_sapphire_rapids = 40e9;
constexpr double xgmi_rome = 16e9;

std::string all_open(const Machine&, int, int) {
  return "";
}

/// The GPUs 4 to 7 repeat the mesh of 0 to 3; every GPU spends exactly six links.
struct Bond {
  int a;
  int b;
  int links;
};
constexpr std::array hybrid_cube_mesh = {
    Bond{0, 1, 1}, Bond{0, 2, 1}, Bond{0, 3, 2}, Bond{1, 2, 2}, Bond{1, 3, 1}, Bond{2, 3, 2},
    Bond{4, 5, 1}, Bond{4, 6, 1}, Bond{4, 7, 2}, Bond{5, 6, 2}, Bond{5, 7, 1}, Bond{6, 7, 2},
    Bond{0, 4, 2}, Bond{1, 5, 2}, Bond{2, 6, 1}, Bond{3, 7, 1},
};

std::string across_the_cube(const Machine&, int from, int to) {
  return fmt::format(
      "gpu:{} and gpu:{} share no NVLink and stand at different CPU sockets, where peer access over PCIe ends", from,
      to);
}

/// Eight GPUs of Hopper, each under a PCIe 5 switch of its own with its network card, four at a socket.
Machine hopper_board(std::string_view name, const GpuModel& model, Bytes memory_per_socket, double memory_bytes_per_s) {
  constexpr std::array root_ports = {"0000:15:01.0", "0000:37:01.0", "0000:48:01.0", "0000:59:01.0",
                                     "0000:97:01.0", "0000:b7:01.0", "0000:c7:01.0", "0000:d7:01.0"};
  constexpr std::array nics = {"0000:18:00.0", "0000:40:00.0", "0000:4f:00.0", "0000:5e:00.0",
                               "0000:9a:00.0", "0000:c0:00.0", "0000:ce:00.0", "0000:dc:00.0"};
  constexpr std::array gpus = {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0",
                               "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"};
  constexpr std::array drive_ports = {"0000:26:01.0", "0000:a7:01.0"};
  constexpr std::array drives = {"0000:27:00.0", "0000:a8:00.0"};
  Builder build(name, recent_cuda, {10e9, 4e9, 1.75e9, 12});
  const std::array sockets = {build.socket(1, memory_per_socket, memory_bytes_per_s),
                              build.socket(1, memory_per_socket, memory_bytes_per_s)};
  build.join_sockets(sockets[0], sockets[1], upi_sapphire_rapids);
  const int fabric = build.nvswitch("NVSwitch 3");
  for (int i = 0; i < 8; ++i) {
    const int numa = i / 4;
    const int below = build.pcie_switch({build.port(sockets[numa], root_ports[i]), 5, 16});
    build.nic(fmt::format("mlx5_{}", i), {below, 5, 16}, nics[i], numa);
    build.nvlink(build.gpu(model, {below, 5, 16}, gpus[i], numa), fabric, 4, 18);
  }
  for (int i = 0; i < 2; ++i) {
    build.drive(fmt::format("nvme{}n1", i), {build.port(sockets[i], drive_ports[i]), 4, 4}, drives[i], i);
  }
  return std::move(build).finish(all_open);
}

}  // namespace

Machine dgx_1_v100() {
  constexpr std::array root_ports = {"0000:00:02.0", "0000:00:03.0", "0000:80:02.0", "0000:80:03.0"};
  constexpr std::array nics = {"0000:05:00.0", "0000:0c:00.0", "0000:84:00.0", "0000:8b:00.0"};
  constexpr std::array gpus = {"0000:06:00.0", "0000:07:00.0", "0000:0a:00.0", "0000:0b:00.0",
                               "0000:85:00.0", "0000:86:00.0", "0000:89:00.0", "0000:8a:00.0"};
  Builder build("dgx-1-v100", last_cuda_for_volta, {6e9, 3e9, 1.5e9, 8});
  const std::array sockets = {build.socket(1, 256_GiB, 60e9), build.socket(1, 256_GiB, 60e9)};
  build.join_sockets(sockets[0], sockets[1], upi_broadwell);
  std::array<int, 8> nodes{};
  for (int i = 0; i < 4; ++i) {
    const int numa = i / 2;
    const int below = build.pcie_switch({build.port(sockets[numa], root_ports[i]), 3, 16});
    build.nic(fmt::format("mlx5_{}", i), {below, 3, 16}, nics[i], numa);
    for (int k = 2 * i; k < 2 * i + 2; ++k) nodes[k] = build.gpu(v100_sxm2, {below, 3, 16}, gpus[k], numa);
  }
  for (const Bond& bond : hybrid_cube_mesh) build.nvlink(nodes[bond.a], nodes[bond.b], 2, bond.links);
  return std::move(build).finish(across_the_cube);
}

Machine dgx_2() {
  constexpr std::array root_ports = {"0000:33:00.0", "0000:56:00.0", "0000:b0:00.0", "0000:dd:00.0"};
  constexpr std::array nics = {"0000:35:00.0", "0000:3a:00.0", "0000:58:00.0", "0000:5d:00.0",
                               "0000:b8:00.0", "0000:bd:00.0", "0000:e1:00.0", "0000:e6:00.0"};
  constexpr std::array gpus = {"0000:34:00.0", "0000:36:00.0", "0000:39:00.0", "0000:3b:00.0",
                               "0000:57:00.0", "0000:59:00.0", "0000:5c:00.0", "0000:5e:00.0",
                               "0000:b7:00.0", "0000:b9:00.0", "0000:bc:00.0", "0000:be:00.0",
                               "0000:e0:00.0", "0000:e2:00.0", "0000:e5:00.0", "0000:e7:00.0"};
  Builder build("dgx-2", last_cuda_for_volta, {7e9, 3e9, 1.5e9, 8});
  const std::array sockets = {build.socket(1, 768_GiB, 105e9), build.socket(1, 768_GiB, 105e9)};
  build.join_sockets(sockets[0], sockets[1], upi_skylake);
  const int fabric = build.nvswitch("NVSwitch 1");
  for (int tree = 0; tree < 4; ++tree) {
    const int numa = tree / 2;
    const int upper = build.pcie_switch({build.port(sockets[numa], root_ports[tree]), 3, 16});
    for (int leaf = 2 * tree; leaf < 2 * tree + 2; ++leaf) {
      const int below = build.pcie_switch({upper, 3, 16});
      build.nic(fmt::format("mlx5_{}", leaf), {below, 3, 16}, nics[leaf], numa);
      for (int i = 2 * leaf; i < 2 * leaf + 2; ++i) {
        build.nvlink(build.gpu(v100_sxm3, {below, 3, 16}, gpus[i], numa), fabric, 2, 6);
      }
    }
  }
  return std::move(build).finish(all_open);
}

Machine dgx_a100() {
  constexpr std::array root_ports = {"0000:00:01.1", "0000:40:01.1", "0000:80:01.1", "0000:b0:01.1"};
  constexpr std::array gpus = {"0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0",
                               "0000:87:00.0", "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0"};
  constexpr std::array nics = {"0000:0c:00.0", "0000:12:00.0", "0000:4b:00.0", "0000:54:00.0",
                               "0000:8d:00.0", "0000:94:00.0", "0000:ba:00.0", "0000:cc:00.0"};
  // Four NUMA nodes a socket, and the switches do not hang on them in order.
  constexpr std::array numa_of_switch = {3, 1, 7, 5};
  Builder build("dgx-a100", recent_cuda, {8e9, 3.5e9, 1.75e9, 12});
  const std::array sockets = {build.socket(4, 256_GiB, 43e9), build.socket(4, 256_GiB, 43e9)};
  build.join_sockets(sockets[0], sockets[1], xgmi_rome);
  const int fabric = build.nvswitch("NVSwitch 2");
  for (int i = 0; i < 4; ++i) {
    const int numa = numa_of_switch[i];
    const int below = build.pcie_switch({build.port(sockets[i / 2], root_ports[i]), 4, 16});
    for (int k = 2 * i; k < 2 * i + 2; ++k) {
      build.nic(fmt::format("mlx5_{}", k), {below, 4, 16}, nics[k], numa);
      build.nvlink(build.gpu(a100_sxm4, {below, 4, 16}, gpus[k], numa), fabric, 3, 12);
    }
  }
  return std::move(build).finish(all_open);
}

Machine dgx_h100() {
  return hopper_board("dgx-h100", h100_sxm5, 1024_GiB, 245e9);
}

Machine hgx_h200() {
  return hopper_board("hgx-h200", h200_sxm5, 1024_GiB, 285e9);
}

}  // namespace peerlane::machine

#include "machine/paths.hpp"

#include <gmock/gmock.h>

#include "machine/builder.hpp"

namespace peerlane::machine {
namespace {

constexpr GpuModel card = {"card", 1_GiB, 100e9, 9, 0, 2};

Node node(NodeKind kind, int index) {
  Node node;
  node.kind = kind;
  node.index = index;
  return node;
}

std::string closed(const Machine&, int, int) {
  return "closed";
}

std::string letters(const Machine& machine, std::string_view a, std::string_view b) {
  int at_a = -1;
  int at_b = -1;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    if (machine.nodes[i].id() == a) at_a = static_cast<int>(i);
    if (machine.nodes[i].id() == b) at_b = static_cast<int>(i);
  }
  return pcie_letters(machine, at_a, at_b);
}

TEST(PcieLetters, NameTheFarthestThingOnTheWay) {
  Builder build("letters", 0, {});
  const int left = build.socket(1, 1_GiB, 100e9);
  const int right = build.socket(1, 1_GiB, 100e9);
  build.join_sockets(left, right, 16e9);
  const int port = build.port(left, "0000:00:01.0");
  const int upper = build.pcie_switch({port, 4, 16});
  const int lower = build.pcie_switch({upper, 4, 16});
  build.gpu(card, {lower, 4, 16}, "", 0);                              // gpu:0
  build.gpu(card, {lower, 4, 16}, "", 0);                              // gpu:1 same switch
  build.gpu(card, {upper, 4, 16}, "", 0);                              // gpu:2 two switches
  build.gpu(card, {build.port(left, "0000:00:02.0"), 4, 16}, "", 0);   // gpu:3 same host bridge
  build.gpu(card, {build.port(left, "0000:40:01.0"), 4, 16}, "", 0);   // gpu:4 same socket
  build.gpu(card, {build.port(right, "0000:80:01.0"), 4, 16}, "", 1);  // gpu:5 the other socket
  build.gpu(card, {build.port(left, ""), 4, 16}, "", 0);               // gpu:6 a port of unknown address
  build.nic("card", {lower, 4, 16}, "", 0);                            // nic:0
  const Machine machine = std::move(build).finish(closed);

  EXPECT_EQ(letters(machine, "gpu:0", "gpu:1"), "PIX");
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:2"), "PXB");
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:3"), "PHB");
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:4"), "NODE");
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:5"), "SYS");
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:6"), "NODE");
  EXPECT_EQ(letters(machine, "gpu:5", "gpu:0"), "SYS");
  EXPECT_EQ(letters(machine, "nic:0", "gpu:0"), "PIX");
  EXPECT_EQ(letters(machine, "nic:0", "gpu:5"), "SYS");
}

TEST(PcieLetters, AreEmptyWhereNoWayIsKnown) {
  Machine machine;
  machine.nodes = {node(NodeKind::gpu, 0), node(NodeKind::gpu, 1)};
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:1"), "");
  EXPECT_EQ(letters(machine, "gpu:0", "gpu:0"), "");
}

/// Three GPUs in a row, joined by NVLink only.
Machine row_of_three() {
  Machine machine;
  for (int i = 0; i < 3; ++i) machine.nodes.push_back(node(NodeKind::gpu, i));
  for (int i = 0; i < 2; ++i) {
    machine.links.push_back(
        {.a = i, .b = i + 1, .kind = LinkKind::nvlink, .width = 2, .generation = 2, .bytes_per_s = 48e9});
  }
  return machine;
}

TEST(NvlinkPath, NeverLeadsThroughAnotherGpu) {
  const Machine machine = row_of_three();
  EXPECT_TRUE(nvlink_path(machine, 0, 1));
  EXPECT_TRUE(nvlink_path(machine, 2, 1));
  EXPECT_FALSE(nvlink_path(machine, 0, 2));
}

TEST(NvlinkPath, KnowsItsDirection) {
  const Machine machine = row_of_three();
  EXPECT_TRUE(nvlink_path(machine, 0, 1)->segments.front().forward);
  EXPECT_FALSE(nvlink_path(machine, 1, 0)->segments.front().forward);
}

TEST(NvlinkPath, TakesTheWiderOfTwoLinks) {
  Machine machine = row_of_three();
  machine.links.push_back({.a = 1, .b = 0, .kind = LinkKind::nvlink, .width = 4, .bytes_per_s = 96e9});
  const auto path = nvlink_path(machine, 0, 1).value();
  EXPECT_EQ(path.width, 4);
  EXPECT_FALSE(path.segments.front().forward);
}

TEST(NvlinkPath, PassesNvswitchesAndIsAsWideAsItsNarrowestLink) {
  Machine machine;
  machine.nodes = {node(NodeKind::gpu, 0), node(NodeKind::gpu, 1), node(NodeKind::nvswitch, 0),
                   node(NodeKind::nvswitch, 1)};
  machine.links = {{.a = 0, .b = 2, .kind = LinkKind::nvlink, .width = 18, .bytes_per_s = 396e9, .latency_s = 1e-7},
                   {.a = 2, .b = 3, .kind = LinkKind::nvlink, .width = 36, .bytes_per_s = 792e9, .latency_s = 1e-7},
                   {.a = 3, .b = 1, .kind = LinkKind::nvlink, .width = 9, .bytes_per_s = 198e9, .latency_s = 1e-7}};
  const auto path = nvlink_path(machine, 0, 1).value();
  EXPECT_EQ(path.segments.size(), 3u);
  EXPECT_EQ(path.width, 9);
  EXPECT_DOUBLE_EQ(path.bytes_per_s, 198e9);
  EXPECT_DOUBLE_EQ(path.latency_s, 3e-7);
}

TEST(Paths, AreNothingToOneselfOrToWhatDoesNotExist) {
  const Machine machine = preset("dgx-1-v100").value();
  EXPECT_FALSE(nvlink_path(machine, 0, 0));
  EXPECT_FALSE(pcie_path(machine, 3, 3));
  EXPECT_FALSE(nvlink_path(machine, 0, 8));
  EXPECT_FALSE(pcie_path(machine, -1, 0));
  EXPECT_FALSE(host_path(machine, 0, 7, true));
  EXPECT_FALSE(host_path(machine, 9, 0, false));
}

TEST(PciePath, NeverPassesAGpuOrANic) {
  Machine machine;
  machine.nodes = {node(NodeKind::gpu, 0), node(NodeKind::gpu, 1), node(NodeKind::gpu, 2), node(NodeKind::nic, 0)};
  machine.links = {{.a = 0, .b = 1, .bytes_per_s = 1e9},
                   {.a = 1, .b = 2, .bytes_per_s = 1e9},
                   {.a = 0, .b = 3, .bytes_per_s = 1e9},
                   {.a = 3, .b = 2, .bytes_per_s = 1e9}};
  EXPECT_FALSE(pcie_path(machine, 0, 2));
}

TEST(PciePath, IsSlowedByTheSocketLinkAndSaysSo) {
  const Machine machine = preset("dgx-1-v100").value();
  const auto path = pcie_path(machine, 0, 7).value();
  EXPECT_TRUE(path.crosses_sockets);
  EXPECT_DOUBLE_EQ(path.bytes_per_s, 10e9);
  EXPECT_EQ(describe(path), "PCIe 3 ×16 and socket link");
}

TEST(HostPath, PrefersTheChipToChipLink) {
  Machine machine;
  machine.nodes = {node(NodeKind::gpu, 0), node(NodeKind::socket, 0), node(NodeKind::numa, 0),
                   node(NodeKind::root_port, 0)};
  machine.links = {{.a = 0, .b = 3, .kind = LinkKind::pcie, .width = 16, .generation = 5, .bytes_per_s = 55e9},
                   {.a = 3, .b = 1, .kind = LinkKind::root, .bytes_per_s = 200e9},
                   {.a = 0, .b = 1, .kind = LinkKind::c2c, .bytes_per_s = 396e9},
                   {.a = 1, .b = 2, .kind = LinkKind::memory, .bytes_per_s = 400e9}};
  EXPECT_EQ(describe(host_path(machine, 0, 0, true).value()), "NVLink-C2C");
  machine.links.erase(machine.links.begin() + 2);
  EXPECT_EQ(describe(host_path(machine, 0, 0, true).value()), "PCIe 5 ×16");
}

TEST(HostPath, BackIsTheSameWayTurnedRound) {
  const Machine machine = preset("dgx-2").value();
  const auto there = host_path(machine, 3, 1, true)->segments;
  const auto back = host_path(machine, 3, 1, false)->segments;
  ASSERT_EQ(there.size(), back.size());
  for (std::size_t i = 0; i < there.size(); ++i) {
    EXPECT_EQ(there[i].signed_id(), -back[back.size() - 1 - i].signed_id());
  }
}

TEST(NearestNuma, FallsBackFromWhatIsSaidToWhatIsLinkedToTheFirst) {
  Machine machine = preset("pcie-2socket-4gpu").value();
  EXPECT_EQ(nearest_numa(machine, 2), 1);
  machine.nodes[*machine.find(NodeKind::gpu, 2)].numa = -1;
  EXPECT_EQ(nearest_numa(machine, 2), 1);
  machine.links.clear();
  EXPECT_EQ(nearest_numa(machine, 2), 0);
  EXPECT_EQ(nearest_numa(machine, 99), 0);
  EXPECT_EQ(nearest_numa(Machine{}, 0), -1);
}

TEST(Segment, ReadsItsSignedIdBack) {
  for (int link = 0; link < 5; ++link) {
    for (const bool forward : {true, false}) {
      const Segment back = Segment::from_signed_id(Segment{link, forward}.signed_id());
      EXPECT_EQ(back.link, link);
      EXPECT_EQ(back.forward, forward);
    }
  }
}

TEST(Describe, ReadsAsAPersonWouldSayIt) {
  EXPECT_EQ(describe(nvlink_path(preset("dgx-h100").value(), 0, 1).value()), "NVLink 4 ×18");
  EXPECT_EQ(describe(host_path(preset("dgx-h100").value(), 0, 0, true).value()), "PCIe 5 ×16");
  EXPECT_EQ(describe(host_path(preset("dgx-h100").value(), 0, 1, true).value()), "PCIe 5 ×16 and socket link");
}

TEST(AssumedRate, GrowsWithWidthAndGenerationAndIsZeroWhereNothingIsKnown) {
  EXPECT_DOUBLE_EQ(assumed_rate(LinkKind::nvlink, 4, 18), 396e9);
  EXPECT_DOUBLE_EQ(assumed_rate(LinkKind::pcie, 5, 16), 55.4e9);
  EXPECT_DOUBLE_EQ(assumed_rate(LinkKind::pcie, 4, 16), 26.3e9);
  EXPECT_DOUBLE_EQ(assumed_rate(LinkKind::pcie, 4, 8), 13.15e9);
  for (int generation = 1; generation < 6; ++generation) {
    EXPECT_LT(assumed_rate(LinkKind::pcie, generation, 16), assumed_rate(LinkKind::pcie, generation + 1, 16));
  }
  for (const int unknown : {-1, 0, 7, 99}) {
    EXPECT_EQ(assumed_rate(LinkKind::nvlink, unknown, 18), 0);
    EXPECT_EQ(assumed_rate(LinkKind::pcie, unknown, 16), 0);
  }
  EXPECT_EQ(assumed_rate(LinkKind::pcie, 5, 0), 0);
}

TEST(Shared, AreTheLinksThatEndAtNoDevice) {
  const Machine machine = preset("dgx-1-v100").value();
  for (const Link& link : machine.links) {
    const bool inside = link.kind == LinkKind::root || link.kind == LinkKind::memory || link.kind == LinkKind::socket ||
                        machine.nodes[link.b].kind == NodeKind::root_port;
    EXPECT_EQ(is_shared(machine, link), inside) << machine.nodes[link.a].id() << " " << machine.nodes[link.b].id();
  }
}

}  // namespace
}  // namespace peerlane::machine

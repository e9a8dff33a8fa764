#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "lanes/lane.hpp"
#include "machine/paths.hpp"
#include "plan/planner.hpp"

namespace peerlane::lanes {
namespace {

using testing::HasSubstr;

std::vector<Offer> offers(std::string_view lane, const Machine& machine, Place from, Place to) {
  return find_lane(lane)->offers(machine, from, to);
}

Hop hop(std::string_view lane, const Machine& machine, Place from, Place to) {
  return std::get<Hop>(offers(lane, machine, from, to).at(0));
}

Refusal refusal(std::string_view lane, const Machine& machine, Place from, Place to) {
  return std::get<Refusal>(offers(lane, machine, from, to).at(0));
}

Machine two_gpus(Claim access, std::string why_not = {}) {
  Machine machine;
  for (int i = 0; i < 2; ++i) {
    Node& node = machine.nodes.emplace_back();
    node.kind = NodeKind::gpu;
    node.index = i;
  }
  machine.pairs.push_back({0, 1, "", 0, access, Claim::unknown, std::move(why_not)});
  return machine;
}

void join(Machine& machine, LinkKind kind, double bytes_per_s) {
  machine.links.push_back({.a = 0, .b = 1, .kind = kind, .width = 4, .generation = 4, .bytes_per_s = bytes_per_s});
}

TEST(AllLanes, StandBestFirst) {
  std::vector<std::string_view> names;
  for (const Lane* lane : all_lanes()) names.push_back(lane->name());
  EXPECT_THAT(names, testing::ElementsAre("copy engine", "pinned DMA", "CPU copy", "file"));
}

TEST(AllLanes, AreFoundByTheirName) {
  for (const Lane* lane : all_lanes()) EXPECT_EQ(find_lane(lane->name()), lane);
  EXPECT_EQ(find_lane("pigeon"), nullptr);
}

TEST(AllLanes, OfferWhatTheySay) {
  for (std::string_view name : preset_names()) {
    const Machine machine = preset(name).value();
    const std::vector<Place> places = planner::places(machine);
    for (const Offer& offer : all_offers(machine, places)) {
      if (const auto* refused = std::get_if<Refusal>(&offer)) {
        EXPECT_NE(find_lane(refused->lane), nullptr);
        EXPECT_FALSE(refused->reason.empty());
        continue;
      }
      const Hop& offered = std::get<Hop>(offer);
      const Lane* lane = find_lane(offered.lane);
      ASSERT_NE(lane, nullptr) << offered.lane;
      EXPECT_EQ(lane->drive(), offered.drive);
      EXPECT_GT(offered.cost.fixed_s, 0);
      EXPECT_GT(offered.cost.bytes_per_s, 0);
      EXPECT_FALSE(offered.via.empty());
      for (int id : offered.segments) {
        EXPECT_LT(static_cast<std::size_t>(machine::Segment::from_signed_id(id).link), machine.links.size());
      }
    }
  }
}

TEST(AllLanes, AnswerAtMostOnceForAPair) {
  for (std::string_view name : preset_names()) {
    const Machine machine = preset(name).value();
    for (const Lane* lane : all_lanes()) {
      for (Place from : planner::places(machine)) {
        for (Place to : planner::places(machine)) EXPECT_LE(lane->offers(machine, from, to).size(), 1u);
      }
    }
  }
}

TEST(AllLanes, SayNothingOfPlacesThatAreNotHere) {
  const Machine machine = preset("laptop-1gpu").value();
  for (const Lane* lane : all_lanes()) {
    for (Place here : planner::places(machine)) {
      for (Place nowhere : {gpu(7), host(7), gpu(-1)}) {
        EXPECT_TRUE(lane->offers(machine, here, nowhere).empty()) << lane->name();
        EXPECT_TRUE(lane->offers(machine, nowhere, here).empty()) << lane->name();
      }
    }
  }
}

TEST(CopyEngineOffers, NvlinkBeforePcie) {
  Machine machine = two_gpus(Claim::yes);
  join(machine, LinkKind::pcie, 20e9);
  EXPECT_EQ(hop("copy engine", machine, gpu(0), gpu(1)).via, "PCIe 4 ×4");
  join(machine, LinkKind::nvlink, 5e9);
  const Hop offered = hop("copy engine", machine, gpu(0), gpu(1));
  EXPECT_EQ(offered.via, "NVLink 4 ×4");
  EXPECT_EQ(offered.cost.bytes_per_s, 5e9);
  EXPECT_THAT(offered.segments, testing::ElementsAre(2));
}

TEST(CopyEngineOffers, WhatIsNotKnownIsTriedWhereAWayIsKnown) {
  Machine machine = two_gpus(Claim::unknown);
  EXPECT_THAT(refusal("copy engine", machine, gpu(0), gpu(1)).reason,
              "no NVLink joins them, and PCIe is closed: no PCIe way from gpu:0 to gpu:1 is known");
  join(machine, LinkKind::pcie, 20e9);
  EXPECT_EQ(hop("copy engine", machine, gpu(0), gpu(1)).cost.bytes_per_s, 20e9);
}

TEST(CopyEngineOffers, TheDriversYesCountsMoreThanALinkNobodyFound) {
  const Hop offered = hop("copy engine", two_gpus(Claim::yes), gpu(0), gpu(1));
  EXPECT_EQ(offered.via, "a link that is not known");
  EXPECT_GT(offered.cost.bytes_per_s, 0);
}

TEST(CopyEngineOffers, AccessIsOneWay) {
  Machine machine = two_gpus(Claim::no, "NVLink is down");
  join(machine, LinkKind::pcie, 20e9);
  EXPECT_EQ(refusal("copy engine", machine, gpu(0), gpu(1)).reason, "NVLink is down");
  EXPECT_EQ(hop("copy engine", machine, gpu(1), gpu(0)).lane, "copy engine");
}

TEST(CopyEngineOffers, ARefusalNamesBothRoads) {
  Machine machine = two_gpus(Claim::no, "the chipset does not support it");
  join(machine, LinkKind::pcie, 20e9);
  EXPECT_EQ(refusal("copy engine", machine, gpu(0), gpu(1)).reason,
            "no NVLink joins them, and PCIe is closed: the chipset does not support it");
}

TEST(CopyEngineOffers, ADeniedNvlinkIsNotCalledAbsent) {
  Machine machine = two_gpus(Claim::no);
  join(machine, LinkKind::nvlink, 20e9);
  EXPECT_EQ(refusal("copy engine", machine, gpu(0), gpu(1)).reason, "peer access gpu:0 → gpu:1 is not supported");
}

TEST(CopyEngineOffers, TheSocketLinkIsBlamedWhereNobodySaysMore) {
  Machine machine = preset("pcie-2socket-4gpu").value();
  for (Pair& pair : machine.pairs) pair.why_not.clear();
  EXPECT_THAT(refusal("copy engine", machine, gpu(0), gpu(2)).reason,
              HasSubstr("peer access gpu:0 → gpu:2 is not supported: they meet only across the socket link"));
}

TEST(CopyEngineOffers, WithinOneGpuBytesAreReadAndWritten) {
  const Machine machine = preset("dgx-h100").value();
  const Hop offered = hop("copy engine", machine, gpu(3), gpu(3));
  EXPECT_EQ(offered.cost.bytes_per_s, machine.gpu(3)->memory_bytes_per_s / 2);
  EXPECT_EQ(offered.via, "its own memory");
}

TEST(PinnedDmaOffers, TheNamelessHostIsTheNearest) {
  const Machine machine = preset("dgx-h100").value();
  for (int ordinal : {0, 7}) {
    const Hop near = hop("pinned DMA", machine, host(), gpu(ordinal));
    const Hop named = hop("pinned DMA", machine, host(machine::nearest_numa(machine, ordinal)), gpu(ordinal));
    EXPECT_EQ(near.segments, named.segments);
    EXPECT_EQ(near.cost.bytes_per_s, named.cost.bytes_per_s);
  }
}

TEST(PinnedDmaOffers, OutAndInTakeTheSameLinksTheOtherWay) {
  const Machine machine = preset("dgx-h100").value();
  std::vector<int> out = hop("pinned DMA", machine, gpu(0), host(0)).segments;
  const std::vector<int> in = hop("pinned DMA", machine, host(0), gpu(0)).segments;
  std::ranges::reverse(out);
  std::ranges::transform(out, out.begin(), std::negate<>());
  EXPECT_EQ(out, in);
}

TEST(PinnedDmaOffers, PageableMemoryIsRefusedWithASentence) {
  const Machine machine = preset("laptop-1gpu").value();
  for (const auto& [from, to] : {std::pair{mem(), gpu(0)}, {gpu(0), mem()}}) {
    EXPECT_EQ(refusal("pinned DMA", machine, from, to).reason, "mem is pageable: a copy engine needs pinned memory");
  }
}

TEST(PinnedDmaOffers, AGpuReachesPinnedMemoryEvenWhereNoLinkIsKnown) {
  EXPECT_GT(hop("pinned DMA", two_gpus(Claim::no), gpu(0), host()).cost.bytes_per_s, 0);
}

TEST(HostLanes, OfferAllTheirWorkersTogether) {
  Machine machine = preset("dgx-h100").value();
  machine.host = {10e9, 4e9, 2e9, 3, Origin::measured};
  EXPECT_EQ(hop("CPU copy", machine, mem(), host(1)).cost.bytes_per_s, 30e9);
  EXPECT_EQ(hop("CPU copy", machine, mem(), mem()).workers, 3);
  EXPECT_EQ(hop("file", machine, file(), host(0)).cost.bytes_per_s, 12e9);
  EXPECT_EQ(hop("file", machine, mem(), file()).cost.bytes_per_s, 6e9);
  machine.host.workers = 1;
  EXPECT_EQ(hop("CPU copy", machine, host(), host(1)).via, "1 CPU worker");
  EXPECT_EQ(hop("file", machine, file(), mem()).via, "1 worker");
}

TEST(HostLanes, SayNothingOfGpus) {
  const Machine machine = preset("dgx-h100").value();
  for (std::string_view lane : {"CPU copy", "file"}) {
    for (Place other : planner::places(machine)) {
      EXPECT_TRUE(offers(lane, machine, gpu(0), other).empty());
      EXPECT_TRUE(offers(lane, machine, other, gpu(0)).empty());
    }
  }
  EXPECT_TRUE(offers("file", machine, file(), file()).empty());
  EXPECT_TRUE(offers("CPU copy", machine, file(), mem()).empty());
}

}  // namespace
}  // namespace peerlane::lanes

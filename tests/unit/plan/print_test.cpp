#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "support.hpp"

// The printed plan is what is compared, so that a change of choice is a visible diff.

namespace peerlane::planner {
namespace {

std::string printed(std::string_view machine, std::string_view from, std::string_view to, std::string_view size) {
  return "\n" + to_text(plan_on(machine, from, to, parse_bytes(size).value()).value());
}

TEST(PlanText, PeersBelowOneSwitchCopyDirectly) {
  EXPECT_EQ(printed("pcie-2socket-4gpu", "gpu:0", "gpu:1", "1GiB"), R"(
gpu:0 → gpu:1   1 GiB                               expected 40.8 ms   26.3 GB/s   (simulated machine, assumed rates)
  takes    copy engine, PCIe 4 ×16
  next     staged through host:0, chunks of 8 MiB            41.4 ms   25.9 GB/s
)");
}

TEST(PlanText, PeersAtDifferentSocketsAreStaged) {
  EXPECT_EQ(printed("pcie-2socket-4gpu", "gpu:0", "gpu:2", "1GiB"), R"(
gpu:0 → gpu:2   1 GiB   expected 67.7 ms   15.9 GB/s   (simulated machine, assumed rates)
  takes    pinned DMA to host:0, PCIe 4 ×16
           pinned DMA to gpu:2, PCIe 4 ×16 and socket link
           chunks of 8 MiB, 4 slots at host:0
  closed   gpu:0 → gpu:2   copy engine   no NVLink joins them, and PCIe is closed: gpu:0 and gpu:2 stand at different CPU sockets, and peer access over PCIe ends at the socket
)");
}

TEST(PlanText, GeForceCardsAreStaged) {
  EXPECT_EQ(printed("rtx4090-4", "gpu:0", "gpu:1", "1GiB"), R"(
gpu:0 → gpu:1   1 GiB   expected 41.4 ms   25.9 GB/s   (simulated machine, assumed rates)
  takes    pinned DMA to host:0, PCIe 4 ×16
           pinned DMA to gpu:1, PCIe 4 ×16
           chunks of 8 MiB, 4 slots at host:0
  closed   gpu:0 → gpu:1   copy engine   gpu:0 and gpu:1 share no NVLink, and the driver opens no peer access over PCIe between GeForce GPUs
)");
}

TEST(PlanText, ANeighbourRelaysOnTheCubeMesh) {
  EXPECT_EQ(printed("dgx-1-v100", "gpu:0", "gpu:7", "1GiB"), R"(
gpu:0 → gpu:7   1 GiB                               expected 22.6 ms   47.4 GB/s   (simulated machine, assumed rates)
  takes    copy engine to gpu:4, NVLink 2 ×2
           copy engine to gpu:7, NVLink 2 ×2
           chunks of 8 MiB, 4 slots at gpu:4
  next     staged through host:0, chunks of 4 MiB             108 ms   9.91 GB/s
  closed   gpu:0 → gpu:7   copy engine   gpu:0 and gpu:7 share no NVLink and stand at different CPU sockets, where peer access over PCIe ends
)");
}

TEST(PlanText, OneLinkStraightIsKept) {
  EXPECT_EQ(printed("dgx-1-v100", "gpu:0", "gpu:1", "64MiB"), R"(
gpu:0 → gpu:1   64 MiB                              expected 2.78 ms   24.1 GB/s   (simulated machine, assumed rates)
  takes    copy engine, NVLink 2 ×1
  next     staged through host:0, chunks of 1 MiB            5.82 ms   11.5 GB/s
)");
}

TEST(PlanText, HopperPeersUseTheirEighteenLinks) {
  EXPECT_EQ(printed("dgx-h100", "gpu:0", "gpu:1", "1GiB"), R"(
gpu:0 → gpu:1   1 GiB                               expected 2.71 ms    396 GB/s   (simulated machine, assumed rates)
  takes    copy engine, NVLink 4 ×18
  next     staged through host:0, chunks of 8 MiB            19.8 ms   54.2 GB/s
)");
}

TEST(PlanText, ASmallPeerCopyIsAllOverhead) {
  EXPECT_EQ(printed("dgx-h100", "gpu:0", "gpu:1", "4KiB"), R"(
gpu:0 → gpu:1   4 KiB                               expected 1.86 µs   2.2 GB/s   (simulated machine, assumed rates)
  takes    copy engine, NVLink 4 ×18
  next     staged through host:0, chunks of 4 KiB            4.55 µs   901 MB/s
)");
}

TEST(PlanText, ABridgeJoinsThePair) {
  EXPECT_EQ(printed("rtx3090-pair", "gpu:0", "gpu:1", "1GiB"), R"(
gpu:0 → gpu:1   1 GiB                               expected 21.7 ms   49.5 GB/s   (simulated machine, assumed rates)
  takes    copy engine, NVLink 3 ×4
  next     staged through host:0, chunks of 4 MiB            82.5 ms     13 GB/s
)");
}

TEST(PlanText, PageableMemoryGoesThroughPinned) {
  EXPECT_EQ(printed("dgx-h100", "mem", "gpu:0", "1GiB"), R"(
mem → gpu:0   1 GiB   expected 20.4 ms   52.7 GB/s   (simulated machine, assumed rates)
  takes    CPU copy to host:0, 12 CPU workers
           pinned DMA to gpu:0, PCIe 5 ×16
           chunks of 4 MiB, 14 slots at host:0
  closed   mem → gpu:0   pinned DMA   mem is pageable: a copy engine needs pinned memory
)");
}

TEST(PlanText, AFileGoesThroughPinned) {
  EXPECT_EQ(printed("dgx-h100", "file:weights.bin", "gpu:0", "4GiB"), R"(
file:weights.bin → gpu:0   4 GiB   expected 90.4 ms   47.5 GB/s   (simulated machine, assumed rates)
  takes    file to host:0, 12 workers
           pinned DMA to gpu:0, PCIe 5 ×16
           chunks of 4 MiB, 14 slots at host:0
)");
}

TEST(PlanText, AFileToAFile) {
  EXPECT_EQ(printed("dgx-h100", "file:in.bin", "file:out.bin", "1GiB"), R"(
file:in.bin → file:out.bin   1 GiB   expected 73.9 ms   14.5 GB/s   (simulated machine, assumed rates)
  takes    file to host:0, 12 workers
           file to file:out.bin, 12 workers
           chunks of 4 MiB, 14 slots at host:0
)");
}

TEST(PlanText, PinnedMemoryOfTheFarNodeCrossesTheSockets) {
  EXPECT_EQ(printed("dgx-h100", "host:1", "gpu:0", "1GiB"), R"(
host:1 → gpu:0   1 GiB   expected 26.8 ms   40 GB/s   (simulated machine, assumed rates)
  takes    pinned DMA, PCIe 5 ×16 and socket link
)");
}

TEST(PlanText, ALaptopUploads) {
  EXPECT_EQ(printed("laptop-1gpu", "mem", "gpu:0", "1GiB"), R"(
mem → gpu:0   1 GiB   expected 82.7 ms   13 GB/s   (simulated machine, assumed rates)
  takes    CPU copy to host:0, 4 CPU workers
           pinned DMA to gpu:0, PCIe 4 ×8
           chunks of 4 MiB, 6 slots at host:0
  closed   mem → gpu:0   pinned DMA   mem is pageable: a copy engine needs pinned memory
)");
}

TEST(PlanText, WithinOneGpu) {
  EXPECT_EQ(printed("hgx-h200", "gpu:3", "gpu:3", "1GiB"), R"(
gpu:3 → gpu:3   1 GiB   expected 540 µs   1.99 TB/s   (simulated machine, assumed rates)
  takes    copy engine, its own memory
)");
}

TEST(PlanText, NothingToCopy) {
  EXPECT_EQ(printed("rtx4090-4", "gpu:2", "gpu:3", "0"), R"(
gpu:2 → gpu:3   0 B   expected 0 s   (simulated machine, assumed rates)
  takes    pinned DMA to host:0, PCIe 4 ×16
           pinned DMA to gpu:3, PCIe 4 ×16
           chunks of 4 KiB, 2 slots at host:0
  closed   gpu:2 → gpu:3   copy engine   gpu:2 and gpu:3 share no NVLink, and the driver opens no peer access over PCIe between GeForce GPUs
)");
}

using Json = nlohmann::json;

Json json_of(std::string_view machine, std::string_view from, std::string_view to, Bytes bytes) {
  return Json::parse(to_json(plan_on(machine, from, to, bytes).value()));
}

TEST(PlanJson, HoldsWhatTheSchemaPromises) {
  const Json plan = json_of("dgx-1-v100", "gpu:0", "gpu:7", 1_GiB);
  EXPECT_EQ(plan.at("schema"), "peerlane.plan/1");
  EXPECT_EQ(plan.at("simulated"), true);
  EXPECT_EQ(plan.at("from"), "gpu:0");
  EXPECT_EQ(plan.at("to"), "gpu:7");
  EXPECT_EQ(plan.at("bytes"), 1_GiB);
  EXPECT_GT(plan.at("expected_seconds"), 0.02);
  EXPECT_EQ(plan.at("direct"), false);
  EXPECT_THAT(plan.at("fallback").get<std::string>(), testing::EndsWith("relayed over gpu:4"));

  const Json& route = plan.at("routes").at(0);
  EXPECT_EQ(route.at("places"), (Json{"gpu:0", "gpu:4", "gpu:7"}));
  EXPECT_EQ(route.at("lanes"), (Json{"copy engine", "copy engine"}));
  EXPECT_EQ(route.at("share"), 1);
  EXPECT_NEAR(route.at("expected_bytes_per_s"), 48e9, 1e9);
  EXPECT_EQ(route.at("chunk"), 8_MiB);
  EXPECT_EQ(route.at("slots"), 4);

  const Json& refusal = plan.at("refused").at(0);
  EXPECT_EQ(refusal.at("from"), "gpu:0");
  EXPECT_EQ(refusal.at("to"), "gpu:7");
  EXPECT_EQ(refusal.at("lane"), "copy engine");
  EXPECT_FALSE(refusal.at("reason").get<std::string>().empty());
}

TEST(PlanJson, ADirectPlanHasNoFallback) {
  EXPECT_TRUE(json_of("dgx-h100", "gpu:0", "gpu:1", 1_GiB).at("fallback").is_null());
}

TEST(PlanJson, APathThatIsNotUtf8StillGivesAValidDocument) {
  Plan plan = plan_on("dgx-h100", "gpu:0", "gpu:1", 1_GiB).value();
  plan.from_name = "file:\xff\xfe";
  EXPECT_EQ(Json::parse(to_json(plan)).at("from"), "file:\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace peerlane::planner

#include <gmock/gmock.h>

#include <set>

#include "support.hpp"

namespace peerlane::planner {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(MakePlan, EveryPairOfPlacesOfEveryPresetHasARoad) {
  for (std::string_view name : preset_names()) {
    const Machine machine = preset(name).value();
    const Hops hops = offered_on(machine);
    for (Place from : places(machine)) {
      for (Place to : places(machine)) {
        for (Bytes bytes : {Bytes{0}, Bytes{1}, 4_KiB, 1_GiB + 1}) {
          const auto plan = make_plan(machine, hops, request(from, to, bytes));
          ASSERT_TRUE(plan) << name << ": " << plan.error().message();
          ASSERT_EQ(plan->routes.size(), 1u);
          EXPECT_EQ(plan->routes.front().places().front(), from);
          EXPECT_EQ(plan->routes.front().places().back(), to);
          EXPECT_EQ(plan->direct, plan->fallback.empty());
          EXPECT_EQ(plan->expected_s > 0, bytes > 0);
          EXPECT_TRUE(plan->simulated);
        }
      }
    }
  }
}

TEST(MakePlan, AllRoadsButThoseBetweenUnlinkedGpusAreDirect) {
  for (std::string_view name : preset_names()) {
    const Machine machine = preset(name).value();
    const Hops hops = offered_on(machine);
    for (Place from : places(machine)) {
      for (Place to : places(machine)) {
        const Plan plan = make_plan(machine, hops, request(from, to, 1_GiB)).value();
        const Pair* pair = machine.pair(from.index, to.index);
        const bool unlinked =
            from.kind == PlaceKind::gpu && to.kind == PlaceKind::gpu && pair != nullptr && pair->access == Claim::no;
        EXPECT_EQ(plan.direct, !unlinked) << name << ": " << to_string(from) << " → " << to_string(to);
      }
    }
  }
}

TEST(MakePlan, AChosenRoadIsTheCheapestOfAll) {
  for (std::string_view name : preset_names()) {
    const Machine machine = preset(name).value();
    const Hops hops = offered_on(machine);
    for (Place from : places(machine)) {
      for (Place to : places(machine)) {
        const Request asked = request(from, to, 256_MiB);
        const Plan plan = make_plan(machine, hops, asked).value();
        for (const Route& route : find_routes(machine, hops, asked)) {
          EXPECT_LE(plan.expected_s, route.expected_s + 1e-12) << name;
        }
      }
    }
  }
}

TEST(MakePlan, ANeighbourWithLinksToBothRelaysOnTheCubeMesh) {
  const Machine machine = preset("dgx-1-v100").value();
  const Hops hops = offered_on(machine);
  int relayed = 0;
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from == to) continue;
      const Plan plan = make_plan(machine, hops, request(gpu(from), gpu(to), 1_GiB)).value();
      const bool linked = machine.pair(from, to)->nvlinks > 0;
      EXPECT_EQ(plan.direct, linked) << from << " → " << to;
      if (linked) continue;
      ++relayed;
      const Place over = plan.routes.front().places()[1];
      ASSERT_EQ(over.kind, PlaceKind::gpu);
      EXPECT_GT(machine.pair(from, over.index)->nvlinks, 0);
      EXPECT_GT(machine.pair(over.index, to)->nvlinks, 0);
      EXPECT_THAT(plan.fallback, EndsWith("; relayed over " + to_string(over)));
    }
  }
  EXPECT_EQ(relayed, 24);
}

TEST(MakePlan, APeerCopyOfTheHopperBoardReaches396GigabytesPerSecond) {
  const Plan plan = plan_on("dgx-h100", "gpu:0", "gpu:7", 1_GiB).value();
  EXPECT_TRUE(plan.direct);
  EXPECT_NEAR(plan.routes.front().expected_bytes_per_s, 396e9, 1e9);
  EXPECT_EQ(plan.drive(), Drive::device_ordered);
}

TEST(MakePlan, AStagedCopyComesWithinATenthOfTheSlowerHop) {
  const Plan plan = plan_on("rtx4090-4", "gpu:0", "gpu:1", 1_GiB).value();
  const Route& route = plan.routes.front();
  ASSERT_EQ(route.hops.size(), 2u);
  const double slower = std::min(route.hops[0].cost.bytes_per_s, route.hops[1].cost.bytes_per_s);
  EXPECT_GE(route.expected_bytes_per_s, 0.9 * slower);
  EXPECT_THAT(plan.fallback, testing::StartsWith("no direct road from gpu:0 to gpu:1: "));
  EXPECT_THAT(plan.fallback, EndsWith("; staged through host:0"));
}

TEST(MakePlan, WorkersDriveACopyOfPageableMemory) {
  EXPECT_EQ(plan_on("laptop-1gpu", "mem", "gpu:0", 1_GiB)->drive(), Drive::host_progressed);
}

TEST(MakePlan, TheNearestPinnedMemoryStages) {
  EXPECT_EQ(plan_on("dgx-h100", "mem", "gpu:7", 1_GiB)->routes.front().places()[1], host(1));
  EXPECT_EQ(plan_on("dgx-h100", "gpu:0", "file:out", 1_GiB)->routes.front().places()[1], host(0));
}

TEST(MakePlan, NoBytesTakeNoTimeAndHaveNoRunnersUp) {
  const Plan plan = plan_on("dgx-h100", "gpu:0", "gpu:1", 0).value();
  EXPECT_EQ(plan.expected_s, 0);
  EXPECT_EQ(plan.routes.front().expected_bytes_per_s, 0);
  EXPECT_GT(plan.routes.front().chunk, 0u);
  EXPECT_TRUE(plan.next.empty());
}

TEST(MakePlan, TheLargestSizeIsPlannedWithoutOverflow) {
  for (const auto& [from, to] : {std::pair{"gpu:0", "gpu:1"}, {"mem", "gpu:0"}, {"file:a", "file:b"}}) {
    const Plan plan = plan_on("rtx4090-4", from, to, ~Bytes{0}).value();
    EXPECT_GT(plan.expected_s, 1e7) << from;
  }
}

TEST(MakePlan, RunnersUpDifferFromTheChosenAndFromEachOther) {
  const Plan plan = plan_on("dgx-1-v100", "gpu:0", "gpu:5", 1_GiB).value();
  ASSERT_EQ(plan.next.size(), 1u);
  EXPECT_EQ(plan.next.front().places()[1].kind, PlaceKind::host);
  EXPECT_GT(plan.next.front().expected_s, plan.expected_s);
}

TEST(MakePlan, AnUnknownPlaceIsAnsweredWithThoseThatExist) {
  const auto plan = plan_on("rtx4090-4", "gpu:0", "gpu:9", 1_GiB);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::not_found);
  EXPECT_EQ(plan.error().message(),
            "gpu:9: rtx4090-4 has no such place; it has gpu:0, gpu:1, gpu:2, gpu:3, host, host:0, mem and file:PATH");
  EXPECT_EQ(plan_on("rtx4090-4", "host:1", "gpu:0", 1_GiB).error().where, "host:1");
}

TEST(MakePlan, WithoutARoadEveryRefusalIsTold) {
  Hops hops;
  hops.refused = {{gpu(0), gpu(1), "copy engine", "the bridge is unplugged"},
                  {gpu(0), host(0), "pinned DMA", "the slot is dead"},
                  {gpu(0), host(), "pinned DMA", "the slot is dead"},
                  {gpu(2), host(0), "pinned DMA", "beside the point"}};
  const auto plan = make_plan(machine_with(3, 1), hops, request(gpu(0), gpu(1), 1_GiB));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(plan.error().message(),
            "gpu:0 → gpu:1: no road on hand-made: gpu:0 → gpu:1 by copy engine: the bridge is unplugged; "
            "gpu:0 → host:0 by pinned DMA: the slot is dead");
}

TEST(MakePlan, WithoutARoadAndWithoutARefusalTheSentenceStillStands) {
  const auto plan = make_plan(machine_with(2, 1), {}, request(gpu(0), gpu(1), 1_GiB));
  EXPECT_EQ(plan.error().message(), "gpu:0 → gpu:1: no road on hand-made");
}

TEST(MakePlan, TooLittleStagingMemoryIsSaid) {
  Hops hops;
  hops.hops = {hop(gpu(0), host(0), 10e9), hop(host(0), gpu(1), 10e9)};
  Request asked = request(gpu(0), gpu(1), 1_GiB);
  asked.staging = 4_KiB;
  const auto plan = make_plan(machine_with(2, 1), hops, asked);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(plan.error().message(), HasSubstr("4 KiB of staging memory do not hold two slots"));
}

TEST(MakePlan, ASlowDirectRoadIsLeftWithAReason) {
  Hops hops;
  hops.hops = {hop(gpu(0), gpu(1), 9e9), hop(gpu(0), host(0), 11e9), hop(host(0), gpu(1), 11e9)};
  const Plan plan = make_plan(machine_with(2, 1), hops, request(gpu(0), gpu(1), 1_GiB)).value();
  EXPECT_FALSE(plan.direct);
  EXPECT_THAT(plan.fallback, HasSubstr("the direct road from gpu:0 to gpu:1 (copy engine, a wire) would take 119 ms"));
  EXPECT_THAT(plan.fallback, HasSubstr("staged through host:0 it takes "));
  EXPECT_THAT(to_text(plan), HasSubstr(plan.fallback));
}

TEST(MakePlan, ALivePlanIsNotCalledSimulated) {
  Machine machine = machine_with(2, 1);
  machine.live = true;
  Hops hops;
  hops.hops = {hop(gpu(0), gpu(1), 9e9)};
  const Plan plan = make_plan(machine, hops, request(gpu(0), gpu(1), 1_GiB)).value();
  EXPECT_FALSE(plan.simulated);
  EXPECT_THAT(to_text(plan), Not(HasSubstr("simulated")));
}

TEST(MakePlan, TheSameSentenceIsNotSaidTwice) {
  for (std::string_view name : preset_names()) {
    const Machine machine = preset(name).value();
    const Hops hops = offered_on(machine);
    for (Place from : places(machine)) {
      for (Place to : places(machine)) {
        const Plan plan = make_plan(machine, hops, request(from, to, 1_MiB)).value();
        std::set<std::string> said;
        for (const Refusal& refusal : plan.refused) {
          EXPECT_TRUE(said.insert(refusal.reason).second) << refusal.reason;
        }
      }
    }
  }
}

}  // namespace
}  // namespace peerlane::planner

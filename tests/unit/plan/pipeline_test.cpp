#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <rapidcheck/gtest.h>

#include "support.hpp"

namespace peerlane::planner {
namespace {

constexpr double close_enough = 1e-12;

TEST(Pipeline, NoBytesTakeNoTime) {
  EXPECT_EQ(pipelined_seconds({{hop(gpu(0), gpu(1), 1e9, 1e-3)}}, 0, 1_MiB), 0);
}

TEST(Pipeline, ASingleStepCostsWhatTheHopSays) {
  EXPECT_NEAR(pipelined_seconds({{hop(gpu(0), gpu(1), 1e9, 1e-3)}}, 1'000'000, 1'000'000), 2e-3, close_enough);
}

TEST(Pipeline, ALoneChunkPassesTheHopsOneAfterTheOther) {
  const std::vector<Hop> hops = {hop(gpu(0), host(0), 1e9, 1e-3), hop(host(0), gpu(1), 2e9, 2e-3)};
  EXPECT_NEAR(pipelined_seconds(hops, 1'000'000, 4'000'000), 1e-3 + 1e-3 + 2e-3 + 0.5e-3, close_enough);
}

TEST(Pipeline, TheSlowestHopSetsThePace) {
  const std::vector<Hop> hops = {hop(gpu(0), host(0), 1e9), hop(host(0), gpu(1), 4e9)};
  // Ten chunks of 1 ms on the slow hop; the last one then needs 0.25 ms more.
  EXPECT_NEAR(pipelined_seconds(hops, 10'000'000, 1'000'000), 10.25e-3, close_enough);
}

TEST(Pipeline, AShortLastChunkCostsLess) {
  const std::vector<Hop> hops = {hop(gpu(0), host(0), 1e9), hop(host(0), gpu(1), 1e9)};
  EXPECT_NEAR(pipelined_seconds(hops, 2'500'000, 1'000'000), 2e-3 + 1e-3 + 0.5e-3, close_enough);
}

TEST(Pipeline, HopsOverTheSameSegmentShareIt) {
  const std::vector<Hop> apart = {hop(gpu(0), gpu(1), 1e9, 0, {1, 2}), hop(gpu(1), gpu(2), 1e9, 0, {3})};
  const std::vector<Hop> shared = {hop(gpu(0), gpu(1), 1e9, 0, {1, 2}), hop(gpu(1), gpu(2), 1e9, 0, {2, 3})};
  EXPECT_NEAR(pipelined_seconds(apart, 1'000'000'000, 1'000'000), 1.001, 1e-9);
  EXPECT_NEAR(pipelined_seconds(shared, 1'000'000'000, 1'000'000), 2.0, 1e-9);
}

TEST(Pipeline, TheTwoDirectionsOfASegmentAreNotShared) {
  const std::vector<Hop> hops = {hop(gpu(0), host(0), 1e9, 0, {1}), hop(host(0), gpu(1), 1e9, 0, {-1})};
  EXPECT_NEAR(pipelined_seconds(hops, 1'000'000'000, 1'000'000), 1.001, 1e-9);
}

TEST(Pipeline, ThreeHopsOverOneSegmentTakeAThirdEach) {
  const std::vector<Hop> hops = {hop(gpu(0), gpu(1), 1e9, 0, {7}), hop(gpu(1), gpu(2), 1e9, 0, {7}),
                                 hop(gpu(2), gpu(3), 1e9, 0, {7})};
  EXPECT_NEAR(pipelined_seconds(hops, 1'000'000'000, 1'000'000), 3.0, 1e-9);
}

TEST(Pipeline, OneWorkerCarriesALoneChunk) {
  EXPECT_NEAR(pipelined_seconds({{worked_hop(mem(), host(0), 8e9, 8)}}, 1'000'000, 1'000'000), 1e-3, close_enough);
}

TEST(Pipeline, AsManyChunksAsWorkersTakeNoLongerThanOne) {
  EXPECT_NEAR(pipelined_seconds({{worked_hop(mem(), host(0), 8e9, 8)}}, 8'000'000, 1'000'000), 1e-3, close_enough);
  EXPECT_NEAR(pipelined_seconds({{worked_hop(mem(), host(0), 8e9, 8)}}, 16'000'000, 1'000'000), 2e-3, close_enough);
}

TEST(Pipeline, HostProgressedHopsShareTheWorkers) {
  const std::vector<Hop> hops = {worked_hop(file(), host(0), 4e9, 4), worked_hop(host(0), file(), 4e9, 4)};
  EXPECT_NEAR(pipelined_seconds(hops, 4'000'000'000, 1'000'000), 2.0, 1e-9);
}

Hop any_hop() {
  const bool worked = *rc::gen::arbitrary<bool>();
  const double rate = *rc::gen::inRange(1, 500) * 1e9;
  const double fixed = *rc::gen::inRange(0, 50) * 1e-6;
  if (worked) return worked_hop(mem(), mem(), rate, *rc::gen::inRange(1, 17), fixed);
  return hop(mem(), mem(), rate, fixed, *rc::gen::container<std::vector<int>>(3, rc::gen::inRange(1, 6)));
}

std::vector<Hop> some_hops() {
  std::vector<Hop> hops;
  for (int left = *rc::gen::inRange(1, 4); left > 0; --left) hops.push_back(any_hop());
  return hops;
}

RC_GTEST_PROP(Pipeline, MoreBytesNeverTakeLess, ()) {
  const std::vector<Hop> hops = some_hops();
  const Bytes chunk = *rc::gen::inRange<Bytes>(1, 1000) * 4_KiB;
  const Bytes bytes = *rc::gen::inRange<Bytes>(0, 100'000'000);
  const Bytes more = bytes + *rc::gen::inRange<Bytes>(0, 10'000'000);
  // Sums of many small figures: allow the last bit.
  RC_ASSERT(pipelined_seconds(hops, bytes, chunk) <= pipelined_seconds(hops, more, chunk) * (1 + 1e-12));
}

RC_GTEST_PROP(Pipeline, NoRouteIsFasterThanItsSlowestHop, ()) {
  const std::vector<Hop> hops = some_hops();
  const Bytes chunk = *rc::gen::inRange<Bytes>(1, 1000) * 4_KiB;
  const Bytes bytes = *rc::gen::inRange<Bytes>(1, 100'000'000);
  for (const Hop& one : hops) {
    const double at_least = static_cast<double>(bytes) / one.cost.bytes_per_s;
    RC_ASSERT(pipelined_seconds(hops, bytes, chunk) >= at_least * (1 - 1e-12));
  }
}

TEST(Pipeline, ASizeNearTheEndOfCountingDoesNotWrap) {
  const std::vector<Hop> hops = {hop(gpu(0), host(0), 1e9), hop(host(0), gpu(1), 1e9)};
  EXPECT_NEAR(pipelined_seconds(hops, ~Bytes{0}, 16_MiB) / 18.446744e9, 1, 1e-3);
}

}  // namespace
}  // namespace peerlane::planner

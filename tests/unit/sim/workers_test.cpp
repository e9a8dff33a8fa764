/// Workers in virtual time.

#include "rig.hpp"

namespace peerlane::sim {
namespace {

using namespace std::chrono_literals;

Machine with_workers(int workers) {
  Machine machine = preset("hgx-h200").value();
  machine.host.workers = workers;
  machine.host.cpu_copy_bytes_per_s = 10e9;
  machine.host.file_read_bytes_per_s = 4e9;
  machine.host.file_write_bytes_per_s = 2e9;
  return machine;
}

double seconds_for(int workers, int jobs, WorkKind kind, Bytes bytes) {
  Rig rig(with_workers(workers));
  const double start = rig.now_s();
  int done = 0;
  for (int i = 0; i < jobs; ++i) rig.simulation().workers().post({[&done] { ++done; }, kind, bytes});
  EXPECT_EQ(done, 0) << "posting runs nothing";
  EXPECT_TRUE(rig.simulation().workers().wait([&] { return done == jobs; }, from_seconds(rig.now_s() + 60)));
  return rig.now_s() - start;
}

TEST(Workers, AJobTakesItsKindsTime) {
  EXPECT_NEAR(seconds_for(1, 1, WorkKind::cpu_copy, 10'000'000), 1e-3 + 2e-6, 1e-7);
  EXPECT_NEAR(seconds_for(1, 1, WorkKind::file_read, 4'000'000), 1e-3 + 2e-6, 1e-7);
  EXPECT_NEAR(seconds_for(1, 1, WorkKind::file_write, 2'000'000), 1e-3 + 2e-6, 1e-7);
  EXPECT_NEAR(seconds_for(1, 1, WorkKind::other, 2'000'000), 2e-6, 1e-7);
}

TEST(Workers, AsManyRunAtOnceAsThereAre) {
  EXPECT_NEAR(seconds_for(4, 8, WorkKind::cpu_copy, 10'000'000), 2e-3, 1e-5);
  EXPECT_NEAR(seconds_for(1, 8, WorkKind::cpu_copy, 10'000'000), 8e-3, 1e-4);
}

std::vector<int> order_of(std::uint64_t seed) {
  Rig rig(with_workers(2), {.seed = seed});
  std::vector<int> order;
  for (int i = 0; i < 12; ++i) rig.simulation().workers().post({[&order, i] { order.push_back(i); }});
  rig.simulation().workers().wait([&] { return order.size() == 12; }, from_seconds(rig.now_s() + 1));
  return order;
}

TEST(Workers, TheSeedDrawsTheOrder) {
  EXPECT_EQ(order_of(1), order_of(1));
  EXPECT_NE(order_of(1), order_of(2));
  EXPECT_THAT(order_of(3), testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(Workers, WhenNothingIsLeftTimeJumpsToTheDeadline) {
  Rig rig(with_workers(1));
  const TimePoint until = rig.simulation().clock().now() + 10s;
  EXPECT_FALSE(rig.simulation().workers().wait([] { return false; }, until));
  EXPECT_EQ(rig.simulation().clock().now(), until);
  EXPECT_TRUE(rig.simulation().workers().wait([] { return true; }, until)) << "already true";
}

TEST(Workers, AnEndlessDeadlineEndsToo) {
  Rig rig(with_workers(1));
  EXPECT_FALSE(rig.simulation().workers().wait([] { return false; }, TimePoint::max()));
  rig.memory(0, 64);  // and time still adds up
}

TEST(Workers, AJobAfterTheDeadlineIsNotRun) {
  Rig rig(with_workers(1));
  bool ran = false;
  rig.simulation().workers().post({[&] { ran = true; }, WorkKind::cpu_copy, 10'000'000'000});
  EXPECT_FALSE(rig.simulation().workers().wait([&] { return ran; }, rig.simulation().clock().now() + 10ms));
  EXPECT_FALSE(ran);
  EXPECT_TRUE(rig.simulation().workers().wait([&] { return ran; }, rig.simulation().clock().now() + 2s));
}

TEST(Workers, JobsAndWatchesPostWatchAndCallTheDriver) {
  Rig rig(with_workers(2));
  Workers& workers = rig.simulation().workers();
  const auto& driver = rig.driver();
  const auto device = rig.memory(0, 1_MiB);
  unsigned char* pinned = rig.pinned(1_MiB);
  const cu::Stream stream = rig.stream(0);
  const cu::Event event = rig.event(0);
  bool finished = false;
  workers.post({[&] {
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(device, pinned, 1_MiB, stream), Status::success);
    EXPECT_EQ(driver.cuEventRecord(event, stream), Status::success);
    workers.watch([&] {
      if (driver.cuEventQuery(event) == Status::not_ready) return false;
      workers.post({[&] { finished = true; }});
      return true;
    });
  }});
  EXPECT_TRUE(workers.wait([&] { return finished; }, rig.simulation().clock().now() + 1s));
  EXPECT_LT(rig.now_s(), 1);
}

TEST(Workers, AWatchIsAskedAfterEveryEventAndForgottenOnceTrue) {
  Rig rig(with_workers(1));
  Workers& workers = rig.simulation().workers();
  int asked = 0, jobs = 0;
  workers.watch([&] {
    ++asked;
    return jobs == 2;
  });
  for (int i = 0; i < 4; ++i) workers.post({[&] { ++jobs; }, WorkKind::cpu_copy, 1000});
  EXPECT_TRUE(workers.wait([&] { return jobs == 4; }, rig.simulation().clock().now() + 1s));
  EXPECT_GE(asked, 3);
  const int before = asked;
  workers.wait([] { return false; }, rig.simulation().clock().now() + 1ms);
  EXPECT_EQ(asked, before);
}

TEST(Workers, AWatchThatLooksAtTheClockSeesTheDeadline) {
  Rig rig(with_workers(1));
  const TimePoint until = rig.simulation().clock().now() + 5ms;
  bool late = false;
  rig.simulation().workers().watch([&] { return late = rig.simulation().clock().now() >= until; });
  EXPECT_TRUE(rig.simulation().workers().wait([&] { return late; }, until));
}

TEST(Workers, AStuckCopyCostsNoMoreThanTheDeadline) {
  Rig rig(with_workers(1));
  ASSERT_TRUE(rig.simulation().add_fault("stuck:host>gpu:0"));
  const auto device = rig.memory(0, 64);
  unsigned char* pinned = rig.pinned(64);
  const cu::Stream stream = rig.stream(0);
  const cu::Event event = rig.event(0);
  rig.driver().cuMemcpyHtoDAsync(device, pinned, 64, stream);
  rig.driver().cuEventRecord(event, stream);
  const TimePoint until = rig.simulation().clock().now() + 2s;
  const auto there = [&] { return rig.driver().cuEventQuery(event) != Status::not_ready; };
  EXPECT_FALSE(rig.simulation().workers().wait(there, until));
  EXPECT_LT(seconds(rig.simulation().clock().now() - until), 1e-3);
}

TEST(Workers, HostFunctionsRunWhileWaiting) {
  Rig rig(with_workers(1));
  const cu::Stream stream = rig.stream(0);
  bool called = false;
  rig.driver().cuLaunchHostFunc(
      stream, [](void* data) { *static_cast<bool*>(data) = true; }, &called);
  EXPECT_TRUE(rig.simulation().workers().wait([&] { return called; }, rig.simulation().clock().now() + 1s));
}

}  // namespace
}  // namespace peerlane::sim

#include "memory/contexts.hpp"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "unit/memory/world.hpp"

namespace peerlane::memory {
namespace {

using test::must;
using test::World;
using testing::HasSubstr;

cu::Context current(const World& world) {
  cu::Context context = nullptr;
  EXPECT_EQ(world.driver().cuCtxGetCurrent(&context), cu::Status::success);
  return context;
}

TEST(Contexts, AreRetainedWhenFirstAskedForAndOnce) {
  World world("dgx-h100");
  EXPECT_EQ(world.calls("cuDevicePrimaryCtxRetain"), 0u);
  EXPECT_FALSE(world.contexts->retained(3));
  const cu::Context first = must(world.contexts->context(3));
  EXPECT_EQ(must(world.contexts->context(3)), first);
  EXPECT_TRUE(world.contexts->retained(3));
  EXPECT_EQ(world.calls("cuDevicePrimaryCtxRetain"), 1u);
}

TEST(Contexts, AreOneForAllThreads) {
  World world("dgx-h100");
  std::vector<cu::Context> seen(8);
  std::vector<std::thread> threads;
  for (auto& mine : seen) threads.emplace_back([&] { mine = must(world.contexts->context(5)); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1u);
  EXPECT_EQ(world.calls("cuDevicePrimaryCtxRetain"), 1u);
}

TEST(Contexts, KnowTheirGpuAndNoForeignOne) {
  World world("dgx-a100");
  for (const int gpu : {0, 7}) EXPECT_EQ(world.contexts->gpu_of(must(world.contexts->context(gpu))), gpu);
  EXPECT_EQ(world.contexts->gpu_of(nullptr), -1);
  int foreign = 0;
  EXPECT_EQ(world.contexts->gpu_of(reinterpret_cast<cu::Context>(&foreign)), -1);
}

TEST(Contexts, OfAGpuThatDoesNotExistAreNotFound) {
  World world("dgx-a100");
  for (const int gpu : {-1, 8, 64, 1000}) {
    const auto context = world.contexts->context(gpu);
    ASSERT_FALSE(context);
    EXPECT_EQ(context.error().kind, ErrorKind::not_found);
    EXPECT_THAT(context.error().message(), HasSubstr("there are 8 GPUs"));
  }
}

TEST(Contexts, OfAnAbandonedGpuAreRefusedAndNeverTouchedAgain) {
  World world("dgx-a100");
  world.stream(1);
  world.contexts->abandon(1);
  EXPECT_TRUE(world.contexts->abandoned(1));
  const auto context = world.contexts->context(1);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().kind, ErrorKind::device_lost);
  EXPECT_TRUE(world.contexts->context(0)) << "other GPUs go on";

  const auto released = world.calls("cuDevicePrimaryCtxRelease");
  world.close();
  EXPECT_EQ(world.calls("cuDevicePrimaryCtxRelease"), released + 1) << "only that of GPU 0";
  EXPECT_EQ(world.calls("cuStreamDestroy"), 0u);
  EXPECT_FALSE(world.simulation->leaks().empty()) << "what it held is left to the driver";
  world.leaves_something();
}

TEST(Streams, AreUsedAgainAndLeaveTheCallersContextCurrent) {
  World world("dgx-h100");
  EXPECT_EQ(current(world), nullptr);
  memory::Streams streams(*world.contexts);
  const cu::Stream first = must(streams.borrow(2));
  const cu::Stream second = must(streams.borrow(2));
  EXPECT_NE(first, second) << "one borrower at a time";
  streams.give_back(2, first);
  EXPECT_EQ(must(streams.borrow(2)), first);
  EXPECT_EQ(streams.borrow(8).error().kind, ErrorKind::not_found);
  streams.give_back(2, first);
  streams.give_back(2, second);
  EXPECT_EQ(current(world), nullptr);
}

TEST(Events, AreUsedAgain) {
  World world("dgx-h100");
  Events events(*world.contexts, cu::event_disable_timing);
  const cu::Event first = must(events.borrow(0));
  events.give_back(0, first);
  EXPECT_EQ(must(events.borrow(0)), first);
  const cu::Event of_another_gpu = must(events.borrow(1));
  EXPECT_NE(of_another_gpu, first);
  EXPECT_EQ(world.calls("cuEventCreate"), 2u);
  events.give_back(0, first);
  events.give_back(1, of_another_gpu);
  EXPECT_EQ(current(world), nullptr);
}

TEST(Events, OfALostGpuAreNeitherGivenNorKept) {
  World world("dgx-h100");
  {
    Events events(*world.contexts, cu::event_default);
    const cu::Event kept = must(events.borrow(0));
    const cu::Event out = must(events.borrow(0));
    events.give_back(0, kept);
    world.contexts->abandon(0);
    events.give_back(0, out);
    EXPECT_EQ(events.borrow(0).error().kind, ErrorKind::device_lost);
    EXPECT_EQ(events.borrow(99).error().kind, ErrorKind::not_found);
  }
  EXPECT_EQ(world.calls("cuEventDestroy"), 0u);
  world.leaves_something();
}

}  // namespace
}  // namespace peerlane::memory

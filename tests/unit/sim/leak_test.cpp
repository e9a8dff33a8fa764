/// What is still held is said.

#include "rig.hpp"

namespace peerlane::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Simulation> fresh() {
  return Simulation::start(preset("hgx-h200").value()).value();
}

TEST(Leak, NothingHeldIsNothingSaid) {
  auto simulation = fresh();
  EXPECT_THAT(simulation->leaks(), IsEmpty());
}

TEST(Leak, EverythingHeldIsNamedAndGivenBackIsForgotten) {
  auto simulation = fresh();
  const auto& driver = simulation->driver();
  cu::Context context = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 2);
  driver.cuCtxPushCurrent(context);
  cu::DevicePtr device = 0;
  void* pinned = nullptr;
  cu::Stream stream = nullptr;
  cu::Event event = nullptr;
  cu::Module module = nullptr;
  driver.cuMemAlloc(&device, 3_MiB);
  driver.cuMemHostAlloc(&pinned, 1_MiB, 0);
  driver.cuStreamCreate(&stream, 0);
  driver.cuEventCreate(&event, 0);
  driver.cuModuleLoadData(&module, "x");
  void* pages = driver.host_pages(2_MiB, 0);
  driver.cuMemHostRegister(pages, 2_MiB, 0);
  const auto held = simulation->leaks();
  EXPECT_THAT(held, Contains(HasSubstr("gpu:2: device memory of 3 MiB")));
  EXPECT_THAT(held, Contains(HasSubstr("host: pinned memory of 1 MiB")));
  EXPECT_THAT(held, Contains(HasSubstr("host: registration of 2 MiB")));
  EXPECT_THAT(held, Contains(HasSubstr("host: pages of 2 MiB")));
  EXPECT_THAT(held, Contains("gpu:2: 1 streams"));
  EXPECT_THAT(held, Contains("gpu:2: 1 events"));
  EXPECT_THAT(held, Contains("gpu:2: 1 modules"));
  EXPECT_THAT(held, Contains("gpu:2: primary context, retained 1 times"));
  EXPECT_EQ(held.size(), 8u);
  driver.cuMemHostUnregister(pages);
  driver.free_host_pages(pages, 2_MiB);
  driver.cuModuleUnload(module);
  driver.cuEventDestroy(event);
  driver.cuStreamDestroy(stream);
  driver.cuMemFreeHost(pinned);
  driver.cuMemFree(device);
  driver.cuCtxPopCurrent(&context);
  driver.cuDevicePrimaryCtxRelease(2);
  EXPECT_THAT(simulation->leaks(), IsEmpty());
}

TEST(Leak, AReleasedContextDoesNotHideWhatItHeld) {
  auto simulation = fresh();
  const auto& driver = simulation->driver();
  cu::Context context = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxPushCurrent(context);
  cu::DevicePtr device = 0;
  cu::Stream stream = nullptr;
  driver.cuMemAlloc(&device, 64);
  driver.cuStreamCreate(&stream, 0);
  driver.cuCtxPopCurrent(&context);
  driver.cuDevicePrimaryCtxRelease(0);
  EXPECT_THAT(simulation->leaks(),
              testing::UnorderedElementsAre("gpu:0: 1 streams left when its context was released",
                                            "gpu:0: 1 allocations left when its context was released"));
}

TEST(Leak, PagesFreedWhileRegisteredAreAMisdeed) {
  auto simulation = fresh();
  const auto& driver = simulation->driver();
  cu::Context context = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxPushCurrent(context);
  void* pages = driver.host_pages(64_KiB, 0);
  driver.cuMemHostRegister(pages, 64_KiB, 0);
  driver.free_host_pages(pages, 64_KiB);
  driver.cuMemHostUnregister(pages);
  driver.free_host_pages(pages, 64_KiB);
  EXPECT_THAT(simulation->leaks(), Contains("host: pages were freed while they were registered"));
  EXPECT_THAT(simulation->leaks(), Contains(HasSubstr("freed that are not held")));
  driver.cuCtxPopCurrent(&context);
}

TEST(Leak, WhatALostGpuHoldsCannotBeGivenBack) {
  auto simulation = fresh();
  const auto& driver = simulation->driver();
  cu::Context context = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxPushCurrent(context);
  cu::DevicePtr device = 0;
  driver.cuMemAlloc(&device, 64);
  EXPECT_FALSE(simulation->leaks().empty());
  ASSERT_TRUE(simulation->add_fault("lost:gpu:0"));
  EXPECT_THAT(simulation->leaks(), IsEmpty());
  driver.cuCtxPopCurrent(&context);
}

TEST(Leak, CallsAreCounted) {
  Rig rig("hgx-h200");
  const auto before = rig.calls("cuMemAlloc");
  const auto memory = rig.memory(0, 64);
  rig.driver().cuMemFree(memory);
  EXPECT_EQ(rig.calls("cuMemAlloc"), before + 1);
  EXPECT_EQ(rig.calls("cuMemFree"), 1u);
  EXPECT_EQ(rig.simulation().calls().front().first, "cuInit");
  EXPECT_EQ(rig.simulation().calls().back().first, "cuMemGetAccess");
}

}  // namespace
}  // namespace peerlane::sim

#include "memory/memory.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "unit/memory/world.hpp"

namespace peerlane::memory {
namespace {

using test::must;
using test::World;
using testing::AllOf;
using testing::HasSubstr;

constexpr Bytes sizes[] = {1, 7, 4095, 4096, 4097, 2_MiB, 2_MiB + 1};

Error error_of(const Result<Buffer>& buffer) {
  EXPECT_FALSE(buffer.has_value());
  return buffer ? Error{} : buffer.error();
}

TEST(Memory, IsHadAtEveryPlaceOfEveryPresetInAnySizeAndGivenBack) {
  for (const auto name : preset_names()) {
    World world{std::string(name)};
    for (const Place place : world.places()) {
      for (const Bytes bytes : sizes) {
        const Buffer buffer = must(world.memory->allocate(place, bytes));
        EXPECT_EQ(buffer.region().place, place);
        ASSERT_EQ(buffer.bytes(), bytes);
        const Region origin = must(world.memory->origin(buffer.data(), bytes));
        EXPECT_EQ(origin.place.kind, place.kind) << to_string(place);
        if (place.kind != PlaceKind::gpu) std::memset(buffer.data(), 0x5a, bytes);
      }
    }
  }
}

TEST(Memory, OfNoBytesIsAnEmptyRegionAndCostsNothing) {
  World world("dgx-h100");
  for (const Place place : world.places()) EXPECT_EQ(must(world.memory->allocate(place, 0)).bytes(), 0u);
  EXPECT_EQ(world.calls("cuDevicePrimaryCtxRetain"), 0u);
}

TEST(Memory, OfAPlaceThatDoesNotExistIsRefusedWithThoseThatDo) {
  World world("rtx4090-4");
  for (const Place place : {gpu(4), gpu(-1), host(99), host(-2), Place{PlaceKind::mem, 0}}) {
    for (const Bytes bytes : {Bytes{0}, Bytes{1}}) {
      const Error error = error_of(world.memory->allocate(place, bytes));
      EXPECT_EQ(error.kind, ErrorKind::not_found) << to_string(place);
      EXPECT_THAT(error.message(), AllOf(HasSubstr("gpu:0, gpu:1, gpu:2, gpu:3, host"), HasSubstr("and mem")));
    }
  }
  EXPECT_EQ(error_of(world.memory->allocate(file(), 1)).kind, ErrorKind::invalid_argument);
}

TEST(Memory, ThatTheGpuDoesNotHaveIsRefusedWithWhatIsFree) {
  World world("dgx-h100");
  const Buffer some = must(world.memory->allocate(gpu(0), 1_GiB));
  const Error error = error_of(world.memory->allocate(gpu(0), 1024_GiB));
  EXPECT_EQ(error.kind, ErrorKind::no_memory);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("gpu:0"), HasSubstr("1 TiB were asked for"), HasSubstr("are free")));
}

TEST(Memory, ThatTheHostDoesNotHaveIsRefusedBeforeAnyPageIsTouched) {
  World world("dgx-h100");
  for (const Place place : {host(), host(0), mem()}) {
    const Error error = error_of(world.memory->allocate(place, Bytes{1} << 50));
    EXPECT_EQ(error.kind, ErrorKind::no_memory) << to_string(place);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("1 PiB were asked for"), HasSubstr("are free")));
  }
}

TEST(Memory, OfAbsurdSizeMakesNoSense) {
  World world("dgx-h100");
  for (const Place place : world.places()) {
    for (const Bytes bytes : {~Bytes{0}, ~Bytes{0} - 4095, Bytes{1} << 63, (Bytes{1} << 56) + 1}) {
      EXPECT_EQ(error_of(world.memory->allocate(place, bytes)).kind, ErrorKind::invalid_argument);
    }
  }
}

TEST(Memory, OfAMachineWithoutGpuIsPlainPages) {
  World world(test::machine_without_gpu());
  for (const Place place : {host(), host(1), mem()}) {
    const Buffer buffer = must(world.memory->allocate(place, 100'000));
    std::memset(buffer.data(), 1, buffer.bytes());
  }
  EXPECT_THAT(error_of(world.memory->allocate(gpu(0), 1)).message(),
              HasSubstr("there are host, host:0, host:1 and mem"));
}

TEST(Memory, WorksWithoutAnyDriver) {
  const vendor::CudaDriver nothing;
  const auto contexts = std::make_shared<Contexts>(nothing, 0);
  const auto memory = std::make_shared<Memory>(contexts, test::machine_without_gpu());
  for (const Place place : {host(), host(1), mem()}) {
    const Buffer buffer = must(memory->allocate(place, 100'000));
    std::memset(buffer.data(), 1, buffer.bytes());
    EXPECT_EQ(must(memory->origin(buffer.data(), 100'000)).place, mem());
  }
}

TEST(Memory, PinsWithAContextThatExistsRatherThanMakingAnother) {
  World world("dgx-h100");
  must(world.contexts->context(6));
  const Buffer buffer = must(world.memory->allocate(host(0), 4096));
  EXPECT_EQ(world.calls("cuDevicePrimaryCtxRetain"), 1u);
}

TEST(Memory, IsPinnedByAnotherGpuWhenTheNearestIsLost) {
  World world("dgx-h100");
  world.contexts->abandon(0);
  const Buffer buffer = must(world.memory->allocate(host(), 4096));
  EXPECT_FALSE(world.contexts->retained(0));
  EXPECT_TRUE(world.contexts->retained(1));
}

TEST(Memory, CannotBePinnedOnceEveryGpuIsLost) {
  World world("laptop-1gpu");
  world.contexts->abandon(0);
  EXPECT_EQ(error_of(world.memory->allocate(host(), 4096)).kind, ErrorKind::device_lost);
  EXPECT_EQ(error_of(world.memory->allocate(gpu(0), 4096)).kind, ErrorKind::device_lost);
  EXPECT_TRUE(world.memory->allocate(mem(), 4096));
}

TEST(Memory, OfAnAbandonedGpuIsLeftAlone) {
  World world("dgx-h100");
  {
    const Buffer buffer = must(world.memory->allocate(gpu(2), 4096));
    world.contexts->abandon(2);
  }
  EXPECT_EQ(world.calls("cuMemFree"), 0u);
  world.leaves_something();
}

TEST(Memory, ThatATransferHoldsIsGivenBackWhenTheTransferEnds) {
  for (const Place place : {gpu(1), host(0), mem()}) {
    World world("dgx-h100");
    Buffer buffer = must(world.memory->allocate(place, 1_MiB));
    const auto lease = world.memory->leases().hold(buffer.region().slice(1000, 1));
    buffer.reset();
    EXPECT_EQ(world.simulation->leaks().empty(), place.kind == PlaceKind::mem) << to_string(place);
    EXPECT_EQ(world.calls("cuMemFree") + world.calls("cuMemHostUnregister"), 0u);
    EXPECT_EQ(world.memory->leases().held(), 1u);
    world.memory->leases().end(lease);
    EXPECT_EQ(world.memory->leases().held(), 0u);
  }
}

TEST(Memory, OutlivesTheSessionThatMadeIt) {
  World world("dgx-h100");
  const Buffer on_gpu = must(world.memory->allocate(gpu(0), 4096));
  const Buffer on_host = must(world.memory->allocate(host(), 4096));
  world.close();
}

TEST(Memory, AsksForIdleMemoryBeforeItFails) {
  World world("dgx-h100");
  Buffer hoard = must(world.memory->allocate(gpu(0), 60_GiB));
  int asked = 0;
  world.memory->when_short([&] {
    ++asked;
    hoard.reset();
    return true;
  });
  EXPECT_TRUE(world.memory->allocate(gpu(0), 40_GiB));
  EXPECT_EQ(asked, 1);
  world.memory->when_short(nullptr);
  EXPECT_FALSE(world.memory->allocate(gpu(0), 200_GiB));
}

}  // namespace
}  // namespace peerlane::memory

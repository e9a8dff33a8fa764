#include "memory/staging.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "unit/memory/world.hpp"

namespace peerlane::memory {
namespace {

using test::must;
using test::World;

TEST(Staging, GivesSlotsSideBySide) {
  World world("dgx-h100");
  Ring ring = must(world.staging->borrow(host(1), 1_MiB, 4));
  ASSERT_EQ(ring.slots(), 4);
  EXPECT_EQ(ring.place(), host(1));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ring.slot(i).address, ring.region().address + static_cast<Bytes>(i) * 1_MiB);
    EXPECT_EQ(ring.slot(i).bytes, 1_MiB);
  }
  world.staging->give_back(std::move(ring));
}

TEST(Staging, UsesARingAgainWhereItFitsAndTheSmallestThatDoes) {
  World world("dgx-h100");
  Ring large = must(world.staging->borrow(host(0), 4_MiB, 4));
  Ring small = must(world.staging->borrow(host(0), 1_MiB, 4));
  const auto large_address = large.region().address;
  const auto small_address = small.region().address;
  world.staging->give_back(std::move(large));
  world.staging->give_back(std::move(small));
  EXPECT_EQ(must(world.staging->borrow(host(0), 512_KiB, 8)).region().address, small_address);
  EXPECT_EQ(must(world.staging->borrow(host(0), 8_MiB, 2)).region().address, large_address);
  EXPECT_EQ(world.calls("cuMemHostRegister"), 2u);
}

TEST(Staging, NeverLendsAnotherPlacesMemory) {
  World world("dgx-h100");
  world.staging->give_back(must(world.staging->borrow(host(0), 1_MiB, 4)));
  for (const Place place : {host(1), host(), gpu(0)}) {
    EXPECT_EQ(must(world.staging->borrow(place, 64_KiB, 1)).place(), place);
  }
}

TEST(Staging, KeepsNoMoreThanItsBoundAndTheNewestLongest) {
  World world("dgx-h100");
  std::vector<Ring> rings;
  for (int i = 0; i < 5; ++i) rings.push_back(must(world.staging->borrow(gpu(0), 32_MiB, 2)));
  const auto newest = rings.back().region().address;
  for (Ring& ring : rings) world.staging->give_back(std::move(ring));
  EXPECT_EQ(world.staging->idle(), Staging::most_idle);
  EXPECT_EQ(world.calls("cuMemFree"), 1u);
  Ring huge = must(world.staging->borrow(gpu(0), 256_MiB, 2));
  EXPECT_NE(huge.region().address, newest);
  world.staging->give_back(std::move(huge));
  EXPECT_EQ(world.staging->idle(), 0u) << "one ring above the bound empties it";
}

TEST(Staging, TakesASmallerRingWhereMemoryIsShort) {
  World world("dgx-h100");
  const Buffer hoard = must(world.memory->allocate(gpu(0), 80_GiB - 3_MiB));
  const Ring ring = must(world.staging->borrow(gpu(0), 1_MiB, 64));
  EXPECT_EQ(ring.slots(), 2);
  EXPECT_EQ(ring.slot_bytes(), 1_MiB);
}

TEST(Staging, MakesDoWithOneSlotOf64KiBAndThenFails) {
  World world("dgx-h100");
  const Buffer hoard = must(world.memory->allocate(gpu(0), 80_GiB - 100_KiB));
  const Ring ring = must(world.staging->borrow(gpu(0), 16_MiB, 8));
  EXPECT_EQ(ring.slots(), 1);
  EXPECT_EQ(ring.slot_bytes(), Staging::smallest_slot);
  const auto another = world.staging->borrow(gpu(0), 16_MiB, 8);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().kind, ErrorKind::no_memory);
}

TEST(Staging, GivesItsIdleMemoryUpBeforeAnAllocationFails) {
  World world("dgx-h100");
  world.staging->give_back(must(world.staging->borrow(gpu(0), 64_MiB, 4)));
  EXPECT_EQ(world.staging->idle(), 256_MiB);
  EXPECT_TRUE(world.memory->allocate(gpu(0), 80_GiB - 1_MiB));
  EXPECT_EQ(world.staging->idle(), 0u);
}

TEST(Staging, RefusesARingThatMakesNoSense) {
  World world("dgx-h100");
  for (const auto& [bytes, slots] : std::vector<std::pair<Bytes, int>>{
           {0, 1}, {1, 0}, {1, -1}, {std::numeric_limits<Bytes>::max(), 2}, {Bytes{1} << 62, 1 << 30}}) {
    EXPECT_EQ(world.staging->borrow(host(), bytes, slots).error().kind, ErrorKind::invalid_argument);
  }
  EXPECT_EQ(world.staging->borrow(gpu(77), 1_MiB, 2).error().kind, ErrorKind::not_found);
}

TEST(Staging, DoesNotKeepMemoryOfALostGpu) {
  World world("dgx-h100");
  Ring ring = must(world.staging->borrow(gpu(4), 1_MiB, 2));
  world.contexts->abandon(4);
  world.staging->give_back(std::move(ring));
  world.staging->give_back(Ring());
  EXPECT_EQ(world.staging->idle(), 0u);
  world.leaves_something();
}

RC_GTEST_PROP(Staging, NeverLendsTheSameBytesTwice, ()) {
  World world("rtx4090-4");
  std::vector<Ring> out;
  for (int step = 0; step < 20; ++step) {
    if (!out.empty() && *rc::gen::arbitrary<bool>()) {
      const auto which = out.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(out));
      world.staging->give_back(std::move(*which));
      out.erase(which);
    } else {
      const Place place = *rc::gen::element(host(), gpu(0), gpu(1));
      out.push_back(must(world.staging->borrow(place, *rc::gen::inRange<Bytes>(1, 1_MiB), *rc::gen::inRange(1, 8))));
    }
    for (std::size_t a = 0; a < out.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Region& one = out[a].region();
        const Region& other = out[b].region();
        RC_ASSERT(one.address + one.bytes <= other.address || other.address + other.bytes <= one.address);
      }
    }
  }
}

}  // namespace
}  // namespace peerlane::memory

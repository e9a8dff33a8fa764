#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "memory/memory.hpp"

namespace peerlane::memory {
namespace {

Region at(std::uint64_t address, Bytes bytes) {
  return {host(), address, bytes};
}

File* file_number(std::uintptr_t n) {
  return reinterpret_cast<File*>(n * 64);
}

TEST(Leases, HoldWhatOverlapsThemAndNothingBeside) {
  Leases leases;
  leases.hold(at(100, 50));
  EXPECT_TRUE(leases.holds(at(100, 50)));
  EXPECT_TRUE(leases.holds(at(149, 1)));
  EXPECT_TRUE(leases.holds(at(0, 101)));
  EXPECT_FALSE(leases.holds(at(150, 10)));
  EXPECT_FALSE(leases.holds(at(0, 100)));
  EXPECT_FALSE(leases.holds(at(120, 0)));
}

TEST(Leases, KeepFilesApartFromMemoryAndFromEachOther) {
  Leases leases;
  leases.hold({file(), 0, 100, file_number(1)});
  EXPECT_TRUE(leases.holds({file(), 50, 1, file_number(1)}));
  EXPECT_FALSE(leases.holds({file(), 50, 1, file_number(2)}));
  EXPECT_FALSE(leases.holds(at(50, 1)));
}

TEST(Leases, CountBytesHeldTwiceOnce) {
  Leases leases;
  const auto first = leases.hold(at(0, 100));
  const auto second = leases.hold(at(50, 100));
  leases.hold({file(), 0, 7, file_number(1)});
  EXPECT_EQ(leases.held(), 157u);
  leases.end(first);
  EXPECT_EQ(leases.held(), 107u);
  leases.end(second);
  EXPECT_EQ(leases.held(), 7u);
}

TEST(Leases, HandOverADroppedBufferAtTheEndOfItsLastLease) {
  Leases leases;
  const auto first = leases.hold(at(0, 10));
  const auto second = leases.hold(at(90, 10));
  int released = 0;
  EXPECT_TRUE(leases.take_over(at(0, 100), [&] { ++released; }));
  leases.end(first);
  EXPECT_EQ(released, 0);
  leases.end(second);
  EXPECT_EQ(released, 1);
}

TEST(Leases, LeaveABufferThatNobodyHoldsToItsOwner) {
  Leases leases;
  leases.hold(at(0, 10));
  EXPECT_FALSE(leases.take_over(at(10, 10), [] { FAIL() << "was never taken over"; }));
}

TEST(Leases, EndOnceHoweverOftenTheyAreEnded) {
  Leases leases;
  const auto first = leases.hold(at(0, 10));
  leases.end(first);
  const auto second = leases.hold(at(0, 10));  // takes the same slot
  leases.end(first);
  leases.end({});
  leases.end({~std::uint64_t{0}});
  EXPECT_TRUE(leases.holds(at(0, 10)));
  leases.end(second);
  EXPECT_FALSE(leases.holds(at(0, 10)));
}

TEST(Leases, MayBeEndedByWhatReleasesABuffer) {
  Leases leases;
  const auto outer = leases.hold(at(0, 10));
  const auto inner = leases.hold(at(20, 10));
  bool last = false;
  ASSERT_TRUE(leases.take_over(at(0, 10), [&] { leases.end(inner); }));
  ASSERT_TRUE(leases.take_over(at(20, 10), [&] { last = true; }));
  leases.end(outer);
  EXPECT_TRUE(last);
}

TEST(Leases, OfAnEngineThatHangsKeepTheirMemoryForEver) {
  Leases leases;
  const auto before = leases.hold(at(0, 10));
  const auto after = leases.hold(at(20, 10));
  const auto never = [] { FAIL() << "the engine may still touch it"; };
  EXPECT_TRUE(leases.take_over(at(0, 10), never));
  leases.never_give_back();
  EXPECT_TRUE(leases.take_over(at(20, 10), never));
  leases.end(before);
  leases.end(after);
}

RC_GTEST_PROP(Leases, AgreeWithAMapOfBytes, ()) {
  constexpr std::uint64_t space = 64;
  Leases leases;
  std::vector<std::pair<Leases::Ticket, Region>> live;
  const auto holders = [&](std::uint64_t byte) {
    return std::count_if(live.begin(), live.end(), [&](const auto& lease) {
      return byte >= lease.second.address && byte < lease.second.address + lease.second.bytes;
    });
  };
  for (int step = *rc::gen::inRange(1, 60); step > 0; --step) {
    if (live.empty() || *rc::gen::arbitrary<bool>()) {
      const auto begin = *rc::gen::inRange<std::uint64_t>(0, space);
      const Region region = at(begin, *rc::gen::inRange<Bytes>(0, space - begin + 1));
      live.emplace_back(leases.hold(region), region);
    } else {
      const auto which = live.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(live));
      leases.end(which->first);
      live.erase(which);
    }
    Bytes held = 0;
    for (std::uint64_t byte = 0; byte < space; ++byte) {
      RC_ASSERT(leases.holds(at(byte, 1)) == (holders(byte) > 0));
      held += holders(byte) > 0 ? 1 : 0;
    }
    RC_ASSERT(leases.held() == held);
  }
}

TEST(Leases, TakenAndEndedByManyThreadsReleaseEveryBufferOnce) {
  Leases leases;
  std::atomic<int> released{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 500; ++round) {
        const Region region = at(static_cast<std::uint64_t>(thread) * 1000 + 1, 10);
        const auto ticket = leases.hold(region);
        if (!leases.take_over(region, [&] { ++released; })) ADD_FAILURE() << "a held region was not taken over";
        leases.end(ticket);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(released, 2000);
  EXPECT_EQ(leases.held(), 0u);
}

}  // namespace
}  // namespace peerlane::memory

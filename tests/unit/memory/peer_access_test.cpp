#include "memory/peer_access.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "unit/memory/world.hpp"

namespace peerlane::memory {
namespace {

using cu::Status;
using test::must;
using test::World;
using testing::HasSubstr;
using vendor::ContextScope;

/// What the driver answers when somebody else enables the way: 704 tells that it is open.
Status enable(World& world, int reader, int owner) {
  ContextScope scope(world.driver(), must(world.contexts->context(reader)));
  return world.driver().cuCtxEnablePeerAccess(must(world.contexts->context(owner)), 0);
}

Status disable(World& world, int reader, int owner) {
  ContextScope scope(world.driver(), must(world.contexts->context(reader)));
  return world.driver().cuCtxDisablePeerAccess(must(world.contexts->context(owner)));
}

TEST(PeerAccess, IsOneWayAndUndoneByItsLastHolder) {
  World world("dgx-h100");
  auto first = must(world.peers->allow(0, 1));
  auto second = must(world.peers->allow(0, 1));
  EXPECT_EQ(world.calls("cuCtxEnablePeerAccess"), 1u);
  EXPECT_TRUE(world.peers->is_open(0, 1));
  EXPECT_FALSE(world.peers->is_open(1, 0));
  first.reset();
  EXPECT_EQ(enable(world, 0, 1), Status::peer_access_already_enabled);
  second.reset();
  EXPECT_FALSE(world.peers->is_open(0, 1));
  EXPECT_EQ(disable(world, 0, 1), Status::peer_access_not_enabled);
}

TEST(PeerAccess, ThatSomebodyElseOpenedIsUsedAndNeverUndone) {
  World world("dgx-h100");
  ASSERT_EQ(enable(world, 2, 3), Status::success);
  {
    const auto hold = must(world.peers->allow(2, 3));
    EXPECT_TRUE(world.peers->is_open(2, 3));
  }
  { const auto again = must(world.peers->allow(2, 3)); }
  EXPECT_EQ(world.calls("cuCtxDisablePeerAccess"), 0u);
  EXPECT_EQ(disable(world, 2, 3), Status::success);
}

TEST(PeerAccess, ThatSomebodyElseClosedMeanwhileEndsQuietly) {
  World world("dgx-h100");
  auto hold = must(world.peers->allow(0, 1));
  ASSERT_EQ(disable(world, 0, 1), Status::success);
  hold.reset();
  EXPECT_TRUE(world.peers->allow(0, 1));
}

TEST(PeerAccess, ToItsOwnMemoryIsAlwaysOpen) {
  World world("dgx-h100");
  EXPECT_TRUE(must(world.peers->allow(1, 1)));
  EXPECT_TRUE(world.peers->is_open(1, 1));
  EXPECT_EQ(world.calls("cuCtxEnablePeerAccess"), 0u);
}

TEST(PeerAccess, ThatThePairCannotHaveIsASentence) {
  World world("rtx4090-4");
  const auto hold = world.peers->allow(0, 1);
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(hold.error().message(), HasSubstr("gives gpu:0 no access to the memory of gpu:1"));
  EXPECT_FALSE(world.peers->is_open(0, 1));
  EXPECT_EQ(world.peers->allow(0, 4).error().kind, ErrorKind::not_found);
  EXPECT_EQ(world.peers->allow(-1, 0).error().kind, ErrorKind::not_found);
}

int add(Machine& machine, NodeKind kind, int index) {
  Node& node = machine.nodes.emplace_back();
  node.kind = kind;
  node.index = index;
  node.numa = 0;
  node.memory = 16_GiB;
  node.memory_bytes_per_s = 500e9;
  node.compute_major = 8;
  node.copy_engines = 2;
  return static_cast<int>(machine.nodes.size()) - 1;
}

void join(Machine& machine, int a, int b, LinkKind kind) {
  Link& link = machine.links.emplace_back();
  link.a = a;
  link.b = b;
  link.kind = kind;
  link.width = 16;
  link.generation = 4;
  link.bytes_per_s = 25e9;
}

/// Ten GPUs under one switch: more than the hardware keeps peers for.
Machine ten_under_one_switch() {
  Machine machine;
  machine.name = "ten";
  const int numa = add(machine, NodeKind::numa, 0);
  const int socket = add(machine, NodeKind::socket, 0);
  const int port = add(machine, NodeKind::root_port, 0);
  const int pcie_switch = add(machine, NodeKind::pcie_switch, 0);
  join(machine, socket, numa, LinkKind::memory);
  join(machine, port, socket, LinkKind::root);
  join(machine, pcie_switch, port, LinkKind::pcie);
  for (int gpu = 0; gpu < 10; ++gpu) {
    join(machine, add(machine, NodeKind::gpu, gpu), pcie_switch, LinkKind::pcie);
    for (int peer = 0; peer < 10; ++peer) {
      if (peer == gpu) continue;
      Pair& pair = machine.pairs.emplace_back();
      pair.from = gpu;
      pair.to = peer;
      pair.letters = "PIX";
      pair.access = Claim::yes;
    }
  }
  return machine;
}

TEST(PeerAccess, OfANinthPeerIsRefusedAndFreeAgainOnceAnotherIsDropped) {
  World world(ten_under_one_switch());
  std::vector<std::shared_ptr<void>> holds;
  for (int owner = 1; owner <= 8; ++owner) holds.push_back(must(world.peers->allow(0, owner)));
  const auto ninth = world.peers->allow(0, 9);
  ASSERT_FALSE(ninth);
  EXPECT_EQ(ninth.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(ninth.error().message(), HasSubstr("8 without NVSwitch"));
  holds.pop_back();
  EXPECT_TRUE(world.peers->allow(0, 9));
}

TEST(PeerAccess, LeavesTheCallersContextCurrent) {
  World world("dgx-h100");
  ContextScope scope(world.driver(), must(world.contexts->context(5)));
  auto hold = must(world.peers->allow(0, 1));
  EXPECT_FALSE(world.peers->allow(0, 100));
  hold.reset();
  cu::Context current = nullptr;
  world.driver().cuCtxGetCurrent(&current);
  EXPECT_EQ(current, must(world.contexts->context(5)));
}

TEST(PeerAccess, OfALostGpuIsNotTouched) {
  World world("dgx-h100");
  auto hold = must(world.peers->allow(0, 1));
  world.contexts->abandon(1);
  hold.reset();
  EXPECT_EQ(world.calls("cuCtxDisablePeerAccess"), 0u);
  EXPECT_EQ(world.peers->allow(2, 1).error().kind, ErrorKind::device_lost);
  world.leaves_something();
}

TEST(PeerAccess, OutlivesItsTable) {
  World world("dgx-h100");
  auto hold = must(world.peers->allow(0, 1));
  world.close();
  hold.reset();
  EXPECT_EQ(world.calls("cuCtxDisablePeerAccess"), 1u);
}

TEST(PeerAccess, TakenAndDroppedByManyThreadsEndsClosed) {
  World world("dgx-h100");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) must(world.peers->allow(0, 1));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(world.calls("cuCtxEnablePeerAccess"), world.calls("cuCtxDisablePeerAccess"));
  EXPECT_EQ(disable(world, 0, 1), Status::peer_access_not_enabled);
}

}  // namespace
}  // namespace peerlane::memory

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "support.hpp"

namespace peerlane::planner {
namespace {

/// Any hops between the places of a small machine, at any speed.
struct World {
  Machine machine = machine_with(4, 2);
  Hops hops;
};

World any_world() {
  World world;
  for (Place from : places(world.machine)) {
    for (Place to : places(world.machine)) {
      if (*rc::gen::inRange(0, 3) == 0) continue;
      const double rate = *rc::gen::inRange(1, 100) * 1e9;
      const bool worked = from.kind != PlaceKind::gpu && to.kind != PlaceKind::gpu;
      world.hops.hops.push_back(worked ? worked_hop(from, to, rate, 4, 5e-6) : hop(from, to, rate, 2e-6));
    }
  }
  return world;
}

Request any_request(const World& world) {
  const std::vector<Place> ends = places(world.machine);
  Request asked = request(*rc::gen::elementOf(ends), *rc::gen::elementOf(ends), *rc::gen::inRange<Bytes>(0, 1_GiB));
  asked.staging = *rc::gen::element<Bytes>(64_KiB, 1_MiB, 3_MiB + 1, 64_MiB, 1_GiB);
  return asked;
}

const Hop* find(const Hops& hops, Place from, Place to) {
  const auto found = std::ranges::find_if(hops.hops, [&](const Hop& hop) { return hop.from == from && hop.to == to; });
  return found == hops.hops.end() ? nullptr : &*found;
}

bool is_stop(const Request& asked, Place place) {
  if (place == asked.from || place == asked.to) return false;
  if (place.kind == PlaceKind::host) return place.index != Place::any;
  if (place.kind != PlaceKind::gpu || asked.from == asked.to) return false;
  return asked.from.kind == PlaceKind::gpu && asked.to.kind == PlaceKind::gpu;
}

/// The roads as places, found by trying every one.
std::set<std::vector<Place>> every_road(const World& world, const Request& asked) {
  std::set<std::vector<Place>> roads;
  auto try_road = [&](const std::vector<Place>& road) {
    for (std::size_t i = 0; i + 1 < road.size(); ++i) {
      const bool from_pinned_to_pinned = road[i].kind == PlaceKind::host && road[i + 1].kind == PlaceKind::host;
      if (find(world.hops, road[i], road[i + 1]) == nullptr || (road.size() > 2 && from_pinned_to_pinned)) return;
    }
    roads.insert(road);
  };
  try_road({asked.from, asked.to});
  if (asked.from == asked.to && !roads.empty()) return roads;
  std::vector<Place> stops = places(world.machine);
  std::erase_if(stops, [&](Place place) { return !is_stop(asked, place); });
  for (Place stop : stops) try_road({asked.from, stop, asked.to});
  const bool one_gpu_reaches_both =
      std::ranges::any_of(roads, [](const auto& road) { return road.size() == 3 && road[1].kind == PlaceKind::gpu; });
  for (Place first : stops) {
    for (Place second : stops) {
      const bool two_gpus = first.kind == PlaceKind::gpu && second.kind == PlaceKind::gpu;
      if (first != second && !(two_gpus && one_gpu_reaches_both)) try_road({asked.from, first, second, asked.to});
    }
  }
  return roads;
}

RC_GTEST_PROP(Routes, EveryRoadIsFoundOnce, ()) {
  const World world = any_world();
  const Request asked = any_request(world);
  std::multiset<std::vector<Place>> found;
  for (const Route& route : find_routes(world.machine, world.hops, asked)) found.insert(route.places());
  const auto expected = every_road(world, asked);
  RC_ASSERT(found == std::multiset<std::vector<Place>>(expected.begin(), expected.end()));
}

RC_GTEST_PROP(Routes, TheCheapestComesFirst, ()) {
  const World world = any_world();
  const auto routes = find_routes(world.machine, world.hops, any_request(world));
  const double picosecond = 1e-12;
  for (std::size_t i = 1; i < routes.size(); ++i) {
    RC_ASSERT(routes[i - 1].expected_s <= routes[i].expected_s + picosecond);
  }
}

RC_GTEST_PROP(Routes, ARouteIsWhatItsChunksTake, ()) {
  const World world = any_world();
  const Request asked = any_request(world);
  for (const Route& route : find_routes(world.machine, world.hops, asked)) {
    const double seconds = pipelined_seconds(route.hops, asked.bytes, route.chunk);
    RC_ASSERT(std::abs(route.expected_s - seconds) <= 1e-9 * seconds);
  }
}

RC_GTEST_PROP(Routes, ARouteStartsAndEndsWhereAskedAndMeetsNoPlaceTwice, ()) {
  const World world = any_world();
  const Request asked = any_request(world);
  for (const Route& route : find_routes(world.machine, world.hops, asked)) {
    std::vector<Place> way = route.places();
    RC_ASSERT(way.front() == asked.from);
    RC_ASSERT(way.back() == asked.to);
    for (std::size_t i = 1; i < route.hops.size(); ++i) RC_ASSERT(route.hops[i - 1].to == route.hops[i].from);
    if (asked.from == asked.to) way.pop_back();
    RC_ASSERT(std::set<Place>(way.begin(), way.end()).size() == way.size());
  }
}

RC_GTEST_PROP(Routes, RingsStayWithinTheStagingLimit, ()) {
  const World world = any_world();
  const Request asked = any_request(world);
  for (const Route& route : find_routes(world.machine, world.hops, asked)) {
    if (route.hops.size() == 1) {
      RC_ASSERT(route.slots == 0);
      continue;
    }
    RC_ASSERT(route.slots >= 2);
    RC_ASSERT(route.chunk > 0u);
    RC_ASSERT(route.chunk % 4_KiB == 0u);
    RC_ASSERT(route.chunk <= 16_MiB);
    RC_ASSERT(route.chunk * static_cast<Bytes>(route.slots) * (route.hops.size() - 1) <= asked.staging);
  }
}

RC_GTEST_PROP(Routes, TheChosenTimeGrowsWithTheSize, ()) {
  const World world = any_world();
  Request asked = any_request(world);
  const auto routes = find_routes(world.machine, world.hops, asked);
  asked.bytes += *rc::gen::inRange<Bytes>(0, 1_GiB);
  const auto larger = find_routes(world.machine, world.hops, asked);
  RC_ASSERT(routes.size() == larger.size());
  if (!routes.empty()) RC_ASSERT(routes.front().expected_s <= larger.front().expected_s + 1e-12);
}

Hops two_ways_round(double relay_rate) {
  Hops hops;
  hops.hops = {hop(gpu(0), gpu(2), relay_rate), hop(gpu(2), gpu(1), relay_rate), hop(gpu(0), host(0), 20e9),
               hop(host(0), gpu(1), 20e9)};
  return hops;
}

TEST(Routes, AnotherGpuRelaysOnlyWhereThatIsFaster) {
  const Machine machine = machine_with(3, 1);
  const auto stop_at = [&](double relay_rate) {
    return find_routes(machine, two_ways_round(relay_rate), request(gpu(0), gpu(1), 1_GiB)).front().places()[1];
  };
  EXPECT_EQ(stop_at(25e9), gpu(2));
  EXPECT_EQ(stop_at(15e9), host(0));
}

TEST(Routes, APairWithNvlinkOfItsOwnIsNeverRelayed) {
  Machine machine = machine_with(3, 1);
  machine.links.push_back({.a = 0, .b = 1, .kind = LinkKind::nvlink, .bytes_per_s = 5e9});
  Hops hops = two_ways_round(50e9);
  hops.hops.push_back(hop(gpu(0), gpu(1), 5e9, 0, {1}));
  for (const Route& route : find_routes(machine, hops, request(gpu(0), gpu(1), 1_GiB))) {
    for (Place stop : route.places()) EXPECT_NE(stop, gpu(2));
  }
}

TEST(Routes, TwoGpusRelayOnlyWhereNoSingleOneReachesBothEnds) {
  const Machine machine = machine_with(4, 1);
  Hops chain;
  chain.hops = {hop(gpu(0), gpu(1), 50e9), hop(gpu(1), gpu(2), 50e9), hop(gpu(2), gpu(3), 50e9)};
  const auto stops = [&] { return find_routes(machine, chain, request(gpu(0), gpu(3), 1_GiB)).front().places(); };
  EXPECT_EQ(stops(), (std::vector{gpu(0), gpu(1), gpu(2), gpu(3)}));
  chain.hops.push_back(hop(gpu(1), gpu(3), 5e9));
  EXPECT_EQ(stops(), (std::vector{gpu(0), gpu(1), gpu(3)}));
}

TEST(Routes, HostMemoryIsNeverReachedOverAnotherGpu) {
  Hops hops;
  hops.hops = {hop(host(0), gpu(0), 1e9), hop(host(0), gpu(1), 50e9), hop(gpu(1), gpu(0), 50e9)};
  const auto routes = find_routes(machine_with(2, 1), hops, request(host(0), gpu(0), 1_GiB));
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes.front().hops.size(), 1u);
}

TEST(Routes, TiesGoToFewerHopsThenToPlacesInOrder) {
  Hops hops;
  for (int stop : {3, 1, 2}) {
    hops.hops.push_back(hop(gpu(0), gpu(stop), 10e9));
    hops.hops.push_back(hop(gpu(stop), gpu(4), 10e9));
  }
  const Machine machine = machine_with(5, 1);
  EXPECT_EQ(find_routes(machine, hops, request(gpu(0), gpu(4), 1_GiB)).front().places()[1], gpu(1));
  hops.hops.push_back(hop(gpu(0), gpu(4), 10e9));
  EXPECT_EQ(find_routes(machine, hops, request(gpu(0), gpu(4), 0)).front().hops.size(), 1u);
}

TEST(Routes, WithoutNumaNodesTheNamelessHostStages) {
  Hops hops;
  hops.hops = {hop(gpu(0), host(), 10e9), hop(host(), gpu(1), 10e9)};
  const auto routes = find_routes(machine_with(2, 0), hops, request(gpu(0), gpu(1), 1_GiB));
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes.front().places()[1], host());
  EXPECT_TRUE(find_routes(machine_with(2, 1), hops, request(gpu(0), gpu(1), 1_GiB)).empty());
}

TEST(Routes, ASingleDeviceOrderedHopIsOneStep) {
  Hops hops;
  hops.hops = {hop(gpu(0), gpu(1), 10e9)};
  const auto routes = find_routes(machine_with(2, 1), hops, request(gpu(0), gpu(1), 3_GiB + 1));
  EXPECT_EQ(routes.front().chunk, 3_GiB + 1);
  EXPECT_EQ(routes.front().slots, 0);
}

TEST(Routes, ASingleHopOfWorkersIsSharedAmongThem) {
  Hops hops;
  hops.hops = {worked_hop(mem(), host(0), 40e9, 4, 5e-6)};
  const Machine machine = machine_with(1, 1);
  for (Bytes bytes : {4_MiB, 64_MiB, 10_GiB}) {
    const Route route = find_routes(machine, hops, request(mem(), host(0), bytes)).front();
    EXPECT_GE(route.chunk, 1_MiB);
    EXPECT_LE(route.chunk, 4_MiB);
    EXPECT_GE(bytes / route.chunk, 4u) << bytes;
  }
}

TEST(Routes, EveryWorkerFindsASlotOfItsOwn) {
  Hops hops;
  hops.hops = {worked_hop(mem(), host(0), 120e9, 12), hop(host(0), gpu(0), 55e9)};
  EXPECT_GE(find_routes(machine_with(1, 1), hops, request(mem(), gpu(0), 1_GiB)).front().slots, 13);
}

TEST(Routes, ASmallStagedCopyAsksForNoMoreRingThanItFills) {
  Hops hops;
  hops.hops = {hop(gpu(0), host(0), 10e9), hop(host(0), gpu(1), 10e9)};
  const Route route = find_routes(machine_with(2, 1), hops, request(gpu(0), gpu(1), 5000)).front();
  EXPECT_EQ(route.chunk, 8_KiB);
  EXPECT_EQ(route.slots, 2);
}

TEST(Routes, TooLittleStagingMemoryClosesStagedRoads) {
  Hops hops;
  hops.hops = {hop(gpu(0), host(0), 10e9), hop(host(0), gpu(1), 10e9)};
  Request asked = request(gpu(0), gpu(1), 1_GiB);
  asked.staging = 8_KiB;
  EXPECT_EQ(find_routes(machine_with(2, 1), hops, asked).size(), 1u);
  asked.staging = 8_KiB - 1;
  EXPECT_TRUE(find_routes(machine_with(2, 1), hops, asked).empty());
}

}  // namespace
}  // namespace peerlane::planner

/// Virtual time: rates, fair shares, host costs, determinism.

#include "machine/paths.hpp"
#include "rig.hpp"

namespace peerlane::sim {
namespace {

double rate(Bytes bytes, double seconds) {
  return static_cast<double>(bytes) / seconds;
}

TEST(Time, OneGibibyteBetweenPeersOfADgxH100TakesWhatNvlinkGives) {
  Rig rig("dgx-h100");
  ASSERT_EQ(rig.allow(0, 7), Status::success);
  const double reached = rate(1_GiB, rig.copy_s(0, 7, 1_GiB, 0));
  EXPECT_GE(reached, 360e9);
  EXPECT_LE(reached, 400e9);
}

TEST(Time, ACopyIsDirectWhenEitherDirectionIsOpen) {
  for (const auto& [reader, owner] : {std::pair{0, 1}, std::pair{1, 0}}) {
    for (const int on : {0, 1}) {
      Rig rig("hgx-h200");
      ASSERT_EQ(rig.allow(reader, owner), Status::success);
      EXPECT_GT(rate(256_MiB, rig.copy_s(0, 1, 256_MiB, on)), 350e9) << reader << on;
    }
  }
}

TEST(Time, WithoutAccessTheDriverStages) {
  for (const std::string_view name : {"hgx-h200", "rtx4090-4", "pcie-2socket-4gpu"}) {
    Rig rig(name);
    const double host_rate = machine::host_path(rig.machine(), 0, -1, true)->bytes_per_s;
    EXPECT_NEAR(rate(256_MiB, rig.copy_s(0, 1, 256_MiB, 0)), 0.68 * host_rate, 0.02 * host_rate) << name;
    EXPECT_NEAR(rig.copy_s(0, 1, 4_KiB, 0), 13.1e-6, 1e-6) << name;
  }
}

TEST(Time, SmallCopiesCostWhatTheyCostOnTwoH200) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  EXPECT_NEAR(rig.copy_s(0, 1, 4_KiB, 0), 1.86e-6, 0.2e-6) << "pushed";
  EXPECT_NEAR(rig.copy_s(0, 1, 4_KiB, 1), 7.26e-6, 0.3e-6) << "pulled";
}

/// Starts copies at once, each on a stream of its own, and says when each was done.
struct Race {
  explicit Race(Rig& rig) : rig(rig) {}
  void add(int from, int to, Bytes bytes, int on) {
    const auto source = rig.memory(from, bytes);
    const auto destination = rig.memory(to, bytes);
    runners.push_back({source, destination, bytes, on, rig.stream(on), nullptr, nullptr});
  }
  std::vector<double> run() {
    for (Runner& r : runners) r.start = rig.mark(r.on, r.stream);
    for (Runner& r : runners) {
      rig.use(r.on);
      EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(r.to, r.from, r.bytes, r.stream), Status::success);
    }
    for (Runner& r : runners) r.end = rig.mark(r.on, r.stream);
    std::vector<double> times;
    for (Runner& r : runners) times.push_back(rig.elapsed_s(r.start, r.end));
    return times;
  }
  struct Runner {
    cu::DevicePtr from, to;
    Bytes bytes;
    int on;
    cu::Stream stream;
    cu::Event start, end;
  };
  Rig& rig;
  std::vector<Runner> runners;
};

TEST(Time, TwoCopiesOverOneLinkTakeTwiceAsLongEach) {
  Rig rig("rtx3090-pair");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const double alone = rig.copy_s(0, 1, 64_MiB, 0);
  Race race(rig);
  race.add(0, 1, 64_MiB, 0);
  race.add(0, 1, 64_MiB, 0);
  for (const double taken : race.run()) EXPECT_NEAR(taken / alone, 2, 0.05);
}

TEST(Time, BothDirectionsOfALinkAtOnceDoNotSlowEachOther) {
  Rig rig("rtx3090-pair");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const double alone = rig.copy_s(0, 1, 64_MiB, 0);
  Race race(rig);
  race.add(0, 1, 64_MiB, 0);
  race.add(1, 0, 64_MiB, 1);
  for (const double taken : race.run()) EXPECT_NEAR(taken / alone, 1, 0.05);
}

TEST(Time, CopiesIntoOneGpuShareItsLinkAndOthersDoNotNotice) {
  Rig rig("dgx-h100");
  for (const auto& [reader, owner] : {std::pair{0, 2}, std::pair{1, 2}, std::pair{4, 5}}) {
    ASSERT_EQ(rig.allow(reader, owner), Status::success);
  }
  const double alone = rig.copy_s(0, 2, 128_MiB, 0);
  Race race(rig);
  race.add(0, 2, 128_MiB, 0);
  race.add(1, 2, 128_MiB, 1);
  race.add(4, 5, 128_MiB, 4);
  const auto times = race.run();
  EXPECT_NEAR(times[0] / alone, 2, 0.05);
  EXPECT_NEAR(times[1] / alone, 2, 0.05);
  EXPECT_NEAR(times[2] / alone, 1, 0.05);
}

TEST(Time, AShortCopyLeavesItsShareToTheLongOne) {
  Rig rig("rtx3090-pair");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const double alone = rig.copy_s(0, 1, 64_MiB, 0);
  Race race(rig);
  race.add(0, 1, 64_MiB, 0);
  race.add(0, 1, 32_MiB, 0);
  const auto times = race.run();
  EXPECT_NEAR(times[0] / alone, 1.5, 0.05);
  EXPECT_NEAR(times[1] / alone, 1.0, 0.05);
}

TEST(Time, AGpuHasAsManyCopiesUnderWayAsEngines) {
  Machine machine = preset("rtx3090-pair").value();
  for (Node& node : machine.nodes) node.copy_engines = 1;
  Rig rig(machine);
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const double alone = rig.copy_s(0, 1, 64_MiB, 0);
  Race race(rig);
  race.add(0, 1, 64_MiB, 0);
  race.add(0, 1, 64_MiB, 0);
  const auto times = race.run();
  EXPECT_NEAR(times[0] / alone, 1, 0.05) << "the first has the engine";
  EXPECT_NEAR(times[1] / alone, 2, 0.05) << "the second waits for it";
}

TEST(Time, ACopyInsideOneGpuReadsAndWritesItsMemory) {
  Rig rig("hgx-h200");
  const double memory_rate = rig.machine().gpu(0)->memory_bytes_per_s;
  EXPECT_NEAR(rate(256_MiB, rig.copy_s(0, 0, 256_MiB, 0)), memory_rate / 2, memory_rate / 50);
}

TEST(Time, PageableMemoryIsSlowAndPinnedIsNot) {
  Rig rig("hgx-h200");
  const auto device = rig.memory(0, 256_MiB);
  const cu::Stream stream = rig.stream(0);
  Content pageable(256_MiB);
  unsigned char* pinned = rig.pinned(256_MiB);
  const auto timed = [&](auto copy) {
    const double start = rig.now_s();
    EXPECT_EQ(copy(), Status::success);
    EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
    return rate(256_MiB, rig.now_s() - start);
  };
  const auto& driver = rig.driver();
  EXPECT_NEAR(timed([&] { return driver.cuMemcpyHtoDAsync(device, pageable.data(), 256_MiB, stream); }), 8.8e9, 0.2e9);
  EXPECT_NEAR(timed([&] { return driver.cuMemcpyDtoHAsync(pageable.data(), device, 256_MiB, stream); }), 17e9, 0.3e9);
  EXPECT_NEAR(timed([&] { return driver.cuMemcpyHtoDAsync(device, pinned, 256_MiB, stream); }), 55.4e9, 1e9);
  EXPECT_NEAR(timed([&] { return driver.cuMemcpyDtoHAsync(pinned, device, 256_MiB, stream); }), 55.4e9, 1e9);
}

TEST(Time, HostCallsCostTheHost) {
  Rig rig("hgx-h200");
  const cu::Stream stream = rig.stream(0);
  const cu::Event event = rig.event(0);
  const auto device = rig.memory(0, 4_KiB);
  unsigned char* pinned = rig.pinned(4_KiB);
  const auto cost = [&](auto call) {
    const double start = rig.now_s();
    EXPECT_EQ(call(), Status::success);
    return rig.now_s() - start;
  };
  const auto& driver = rig.driver();
  EXPECT_NEAR(cost([&] { return driver.cuMemcpyHtoDAsync(device, pinned, 4_KiB, stream); }), 2.1e-6, 1e-9);
  EXPECT_NEAR(cost([&] { return driver.cuEventRecord(event, stream); }), 0.32e-6, 1e-9);
  EXPECT_NEAR(cost([&] { return driver.cuStreamWaitEvent(stream, event, 0); }), 0.32e-6, 1e-9);
  EXPECT_NEAR(cost([&] { return rig.allow(0, 1); }), 10e-3, 1e-6);
  const double plain = cost([&] { return rig.memory(1, 4_KiB) ? Status::success : Status::unknown; });
  EXPECT_NEAR(plain, 184e-6, 2e-6) << "a peer has access, so that allocating maps twice";
}

TEST(Time, AKernelTakesItsFixedTimeAndItsBytes) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, 1_GiB);
  const cu::Stream stream = rig.stream(0);
  const auto timed = [&](Bytes bytes) {
    const cu::Event start = rig.mark(0, stream);
    EXPECT_EQ(rig.fill(0, memory, bytes, 1, stream), Status::success);
    return rig.elapsed_s(start, rig.mark(0, stream));
  };
  const double launch = timed(8);
  EXPECT_LT(launch, 2.1e-3) << "the module is loaded between the marks";
  EXPECT_NEAR(timed(64_MiB) - launch, static_cast<double>(64_MiB) / rig.machine().gpu(0)->memory_bytes_per_s, 2e-6);
}

/// A busy program's end times, as one list.
std::vector<double> busy_times(Settings settings) {
  Rig rig("dgx-h100", settings);
  for (int gpu = 0; gpu < 4; ++gpu) rig.allow(gpu, (gpu + 1) % 4);
  Race race(rig);
  for (int i = 0; i < 12; ++i) race.add(i % 4, (i + 1) % 4, 100'000u * (1 + i % 5), i % 4);
  return race.run();
}

TEST(Time, TheSameSeedGivesTheSameTimes) {
  for (const double noise : {0.0, 0.1}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      EXPECT_EQ(busy_times({.seed = seed, .noise = noise}), busy_times({.seed = seed, .noise = noise}));
    }
  }
  EXPECT_EQ(busy_times({.seed = 1}), busy_times({.seed = 2})) << "without noise there is no chance in a copy";
  EXPECT_NE(busy_times({.seed = 1, .noise = 0.1}), busy_times({.seed = 2, .noise = 0.1}));
}

TEST(Time, NoiseSpreadsButKeepsTheMean) {
  Rig rig("hgx-h200", {.seed = 7, .noise = 0.05});
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  double sum = 0, least = 1, most = 0;
  for (int i = 0; i < 200; ++i) {
    const double taken = rig.copy_s(0, 1, 1_MiB, 0);
    sum += taken;
    least = std::min(least, taken);
    most = std::max(most, taken);
  }
  Rig quiet("hgx-h200");
  ASSERT_EQ(quiet.allow(0, 1), Status::success);
  EXPECT_NEAR(sum / 200 / quiet.copy_s(0, 1, 1_MiB, 0), 1, 0.02);
  EXPECT_GT(most / least, 1.1);
}

TEST(Time, LinksCountWhatTheyCarry) {
  Rig rig("rtx3090-pair");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  rig.copy_s(0, 1, 3_MiB, 0);
  rig.copy_s(1, 0, 1_MiB, 1);
  const auto path = machine::nvlink_path(rig.machine(), 0, 1);
  ASSERT_TRUE(path.has_value());
  const auto segment = path->segments.front();
  const auto [ahead, back] = rig.simulation().carried(segment.link);
  EXPECT_EQ(segment.forward ? ahead : back, 3_MiB);
  EXPECT_EQ(segment.forward ? back : ahead, 1_MiB);
  EXPECT_EQ(rig.simulation().carried(-1), std::pair(Bytes{0}, Bytes{0}));
}

TEST(Time, AStagedCopyLeavesNvlinkAlone) {
  Rig rig("hgx-h200");
  rig.copy_s(0, 1, 1_MiB, 0);
  Bytes on_nvlink = 0;
  for (std::size_t link = 0; link < rig.machine().links.size(); ++link) {
    const auto [ahead, back] = rig.simulation().carried(static_cast<int>(link));
    if (rig.machine().links[link].kind == LinkKind::nvlink) on_nvlink += ahead + back;
  }
  EXPECT_EQ(on_nvlink, 0u);
}

RC_GTEST_PROP(Time, NoLinkCarriesMoreThanItsRateAndTimeNeverRunsBack, ()) {
  Rig rig("dgx-h100");
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      if (a != b) rig.allow(a, b);
    }
  }
  Race race(rig);
  const int copies = *rc::gen::inRange(1, 9);
  for (int i = 0; i < copies; ++i) {
    const int from = *rc::gen::inRange(0, 3);
    const int to = (from + *rc::gen::inRange(1, 3)) % 3;
    race.add(from, to, *rc::gen::inRange<Bytes>(1, 4_MiB), from);
  }
  const double start = rig.now_s();
  for (const double taken : race.run()) RC_ASSERT(taken > 0);
  const double passed = rig.now_s() - start;
  for (std::size_t link = 0; link < rig.machine().links.size(); ++link) {
    const auto [ahead, back] = rig.simulation().carried(static_cast<int>(link));
    const double most = rig.machine().links[link].bytes_per_s * passed * 1.001;
    RC_ASSERT(static_cast<double>(ahead) <= most);
    RC_ASSERT(static_cast<double>(back) <= most);
  }
}

}  // namespace
}  // namespace peerlane::sim

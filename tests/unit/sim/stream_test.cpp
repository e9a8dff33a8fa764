/// Streams, events, waits between them, host functions, and what never ends.

#include <atomic>
#include <thread>

#include "rig.hpp"

namespace peerlane::sim {
namespace {

constexpr Bytes big = 64_MiB;

TEST(Stream, ACallReturnsBeforeTheBytesAreThere) {
  Rig rig("hgx-h200");
  const auto device = rig.memory(0, big);
  unsigned char* pinned = rig.pinned(big);
  pinned[big - 1] = 1;
  rig.write(device, Content(big, 2), 0);
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuMemcpyDtoHAsync(pinned, device, big, stream), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(stream), Status::not_ready);
  EXPECT_EQ(pinned[big - 1], 1);
  ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(pinned[big - 1], 2);
}

TEST(Stream, APageableSourceIsReadBeforeTheCallReturns) {
  Rig rig("hgx-h200");
  const auto device = rig.memory(0, 1000);
  Content source = Rig::pattern(1000);
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuMemcpyHtoDAsync(device, source.data(), 1000, stream), Status::success);
  std::fill(source.begin(), source.end(), 0);
  ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(rig.read(device, 1000, 0), Rig::pattern(1000));
}

TEST(Stream, APinnedSourceIsReadWhenTheCopyRuns) {
  Rig rig("hgx-h200");
  const auto device = rig.memory(0, big);
  unsigned char* pinned = rig.pinned(big);
  pinned[0] = 1;
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuMemcpyHtoDAsync(device, pinned, big, stream), Status::success);
  pinned[0] = 2;  // too early: a mistake that shows
  ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(rig.read(device, 1, 0)[0], 2);
}

TEST(Stream, AWaitForAnEventOrdersTwoGpus) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const auto a = rig.memory(0, big), b = rig.memory(1, big), c = rig.memory(1, big);
  rig.write(a, Content(big, 9), 0);
  const cu::Stream first = rig.stream(0), second = rig.stream(1);
  rig.use(0);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a, big, first), Status::success);
  const cu::Event there = rig.mark(0, first);
  ASSERT_EQ(rig.driver().cuStreamWaitEvent(second, there, 0), Status::success);
  rig.use(1);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(c, b, big, second), Status::success);
  ASSERT_EQ(rig.driver().cuStreamSynchronize(second), Status::success);
  EXPECT_EQ(rig.driver().cuEventQuery(there), Status::success);
  EXPECT_TRUE(Rig::is_all(rig.read(c, big, 1), 9));
}

TEST(Stream, WithoutTheWaitTheSecondCopyTakesWhatIsThere) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const auto a = rig.memory(0, big), b = rig.memory(1, big), c = rig.memory(1, big);
  rig.write(a, Content(big, 9), 0);
  const cu::Stream first = rig.stream(0), second = rig.stream(1);
  rig.use(0);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a, big, first), Status::success);
  rig.use(1);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(c, b, big, second), Status::success);
  ASSERT_EQ(rig.driver().cuStreamSynchronize(second), Status::success);
  EXPECT_NE(rig.read(c, 1, 1)[0], 9);
}

TEST(Stream, AWaitTakesTheRecordThatWasThere) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, big), other = rig.memory(0, big);
  const cu::Stream busy = rig.stream(0), waiting = rig.stream(0);
  const cu::Event event = rig.event(0);
  const auto& driver = rig.driver();
  EXPECT_EQ(driver.cuEventQuery(event), Status::success) << "never recorded";
  EXPECT_EQ(driver.cuEventSynchronize(event), Status::success);
  ASSERT_EQ(driver.cuStreamWaitEvent(waiting, event, 0), Status::success);
  EXPECT_EQ(driver.cuStreamQuery(waiting), Status::success) << "nothing to wait for";
  ASSERT_EQ(driver.cuEventRecord(event, busy), Status::success);
  ASSERT_EQ(driver.cuStreamWaitEvent(waiting, event, 0), Status::success);
  ASSERT_EQ(driver.cuMemcpyDtoDAsync(other, memory, big, busy), Status::success);
  ASSERT_EQ(driver.cuEventRecord(event, busy), Status::success);  // the wait above keeps the first record
  EXPECT_EQ(driver.cuStreamQuery(waiting), Status::success);
  EXPECT_EQ(driver.cuEventQuery(event), Status::not_ready);
  EXPECT_EQ(driver.cuEventDestroy(event), Status::success);
  EXPECT_EQ(driver.cuStreamSynchronize(busy), Status::success);
}

TEST(Stream, ElapsedTimeWaitsForBothEnds) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, big), other = rig.memory(0, big);
  const cu::Stream stream = rig.stream(0);
  const cu::Event start = rig.event(0), end = rig.event(0);
  cu::Event untimed = nullptr;
  ASSERT_EQ(rig.driver().cuEventCreate(&untimed, cu::event_disable_timing), Status::success);
  float milliseconds = 0;
  EXPECT_EQ(rig.driver().cuEventElapsedTime(&milliseconds, start, end), Status::invalid_handle) << "not recorded";
  rig.driver().cuEventRecord(start, stream);
  rig.driver().cuMemcpyDtoDAsync(other, memory, big, stream);
  rig.driver().cuEventRecord(end, stream);
  EXPECT_EQ(rig.driver().cuEventElapsedTime(&milliseconds, start, end), Status::not_ready);
  rig.driver().cuStreamSynchronize(stream);
  EXPECT_EQ(rig.driver().cuEventElapsedTime(&milliseconds, start, end), Status::success);
  EXPECT_GT(milliseconds, 0);
  rig.driver().cuEventRecord(untimed, stream);
  EXPECT_EQ(rig.driver().cuEventElapsedTime(&milliseconds, start, untimed), Status::invalid_handle);
}

TEST(Stream, TheLegacyStreamHoldsBackBlockingStreamsOnly) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, big), other = rig.memory(0, big);
  const cu::Stream blocking = rig.stream(0, 0), free = rig.stream(0, cu::stream_non_blocking);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(other, memory, big, nullptr), Status::success);
  ASSERT_EQ(rig.driver().cuEventRecord(rig.event(0), blocking), Status::success);
  ASSERT_EQ(rig.driver().cuEventRecord(rig.event(0), free), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(free), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(blocking), Status::not_ready);
  EXPECT_EQ(rig.driver().cuStreamSynchronize(nullptr), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(blocking), Status::success);

  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(other, memory, big, blocking), Status::success);
  ASSERT_EQ(rig.driver().cuMemsetD8Async(memory, 1, 1, nullptr), Status::success);
  const double start = rig.now_s();
  EXPECT_EQ(rig.driver().cuStreamSynchronize(nullptr), Status::success);
  EXPECT_GT(rig.now_s() - start, 20e-6) << "it waited for the copy";
}

TEST(Stream, AValueLetsAStreamGo) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, 64);
  auto* word = reinterpret_cast<std::uint32_t*>(rig.pinned(64));
  *word = 4;
  const auto address = reinterpret_cast<cu::DevicePtr>(word);
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuStreamWaitValue32(stream, address, 5, cu::wait_value_geq), Status::success);
  ASSERT_EQ(rig.driver().cuMemsetD8Async(memory, 7, 64, stream), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(stream), Status::not_ready);
  *word = 6;  // the host, without a call
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(rig.read(memory, 1, 0)[0], 7);
  ASSERT_EQ(rig.driver().cuStreamWaitValue32(stream, address, 7, cu::wait_value_equal), Status::success);
  const cu::Stream writer = rig.stream(0);
  ASSERT_EQ(rig.driver().cuStreamWriteValue32(writer, address, 7, 0), Status::success);
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(*word, 7u);
}

TEST(Stream, ValuesCompareCyclically) {
  Rig rig("hgx-h200");
  auto* word = reinterpret_cast<std::uint32_t*>(rig.pinned(64));
  const auto address = reinterpret_cast<cu::DevicePtr>(word);
  const cu::Stream stream = rig.stream(0);
  *word = 3;
  ASSERT_EQ(rig.driver().cuStreamWaitValue32(stream, address, 0xFFFFFFF0u, cu::wait_value_geq), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(stream), Status::success) << "3 is nineteen past it";
}

TEST(Stream, ValuesStandWhereTheGpuMayReach) {
  Rig rig("hgx-h200");
  const cu::Stream stream = rig.stream(0);
  const auto peer = rig.memory(1, 64);
  int on_the_stack = 0;
  const auto& driver = rig.driver();
  EXPECT_EQ(driver.cuStreamWriteValue32(stream, peer, 1, 0), Status::invalid_value);
  EXPECT_EQ(driver.cuStreamWriteValue32(stream, reinterpret_cast<cu::DevicePtr>(&on_the_stack), 1, 0),
            Status::invalid_value);
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  EXPECT_EQ(driver.cuStreamWriteValue32(stream, peer + 2, 1, 0), Status::invalid_value) << "misaligned";
  EXPECT_EQ(driver.cuStreamWaitValue32(stream, peer, 1, 77), Status::invalid_value);
  EXPECT_EQ(driver.cuStreamWriteValue32(stream, peer, 1, 0), Status::success);
}

TEST(Stream, AHostFunctionRunsInItsTurnAndMayNotCallTheDriver) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, big), other = rig.memory(0, big);
  const cu::Stream stream = rig.stream(0);
  struct Seen {
    Rig* rig;
    cu::Event before;
    Status inside = Status::success;
    double at = 0;
  } seen{&rig, nullptr};
  const double start = rig.now_s();
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(other, memory, big, stream), Status::success);
  ASSERT_EQ(rig.driver().cuLaunchHostFunc(
                stream,
                [](void* data) {
                  auto& s = *static_cast<Seen*>(data);
                  s.inside = s.rig->driver().cuCtxSynchronize();
                  s.at = s.rig->now_s();
                },
                &seen),
            Status::success);
  const cu::Event after = rig.mark(0, stream);
  EXPECT_EQ(rig.driver().cuEventQuery(after), Status::not_ready);
  ASSERT_EQ(rig.driver().cuEventSynchronize(after), Status::success);
  EXPECT_EQ(seen.inside, Status::not_permitted);
  EXPECT_GT(seen.at, start + 20e-6);
  EXPECT_EQ(rig.driver().cuLaunchHostFunc(stream, nullptr, nullptr), Status::invalid_value);
}

TEST(Stream, ADestroyedStreamStillFinishesItsWork) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, big);
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuMemsetD8Async(memory, 3, big, stream), Status::success);
  ASSERT_EQ(rig.driver().cuStreamDestroy(stream), Status::success);
  ASSERT_EQ(rig.driver().cuCtxSynchronize(), Status::success);
  EXPECT_EQ(rig.read(memory, 1, 0)[0], 3);
}

TEST(Stream, AStreamOfAnotherGpuTakesCopiesButNoKernels) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, 64), other = rig.memory(0, 64), sum = rig.memory(0, 8);
  const cu::Stream foreign = rig.stream(1);
  rig.use(0);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(other, memory, 64, foreign), Status::success);
  EXPECT_EQ(rig.digest(0, memory, 64, sum, foreign), Status::invalid_handle);
}

TEST(Stream, WhatNeverEndsTimesOutAfterAVirtualHour) {
  Rig rig("hgx-h200");
  auto* word = reinterpret_cast<std::uint32_t*>(rig.pinned(64));
  *word = 0;
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuStreamWaitValue32(stream, reinterpret_cast<cu::DevicePtr>(word), 1, 0), Status::success);
  const double start = rig.now_s();
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::launch_timeout);
  EXPECT_NEAR(rig.now_s() - start, 3600, 1);
  *word = 1;
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
}

TEST(Stream, AHostThatOnlyLooksReachesTheEndSoon) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const auto from = rig.memory(0, big), to = rig.memory(1, big);
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(to, from, big, stream), Status::success);
  const double start = rig.now_s();
  int looks = 0;
  while (rig.driver().cuStreamQuery(stream) == Status::not_ready) ASSERT_LT(++looks, 1000);
  EXPECT_NEAR(rig.now_s() - start, static_cast<double>(big) / 390e9, 20e-6) << "and not later than it is";
}

TEST(Stream, AnotherThreadMayEndTheWait) {
  Rig rig("hgx-h200");
  auto* word = reinterpret_cast<std::uint32_t*>(rig.pinned(64));
  *word = 0;
  const cu::Stream stream = rig.stream(0), other = rig.stream(0);
  const auto address = reinterpret_cast<cu::DevicePtr>(word);
  ASSERT_EQ(rig.driver().cuStreamWaitValue32(stream, address, 1, 0), Status::success);
  std::thread helper([&] {
    rig.driver().cuCtxPushCurrent(rig.context(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(rig.driver().cuStreamWriteValue32(other, address, 1, 0), Status::success);
  });
  while (rig.calls("cuCtxPushCurrent") == 0) std::this_thread::yield();  // until the helper is there
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  helper.join();
}

TEST(Stream, ManyThreadsUseOneSimulation) {
  Rig rig("dgx-h100");
  constexpr Bytes bytes = 64_KiB;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int gpu = 0; gpu < 8; ++gpu) {
    threads.emplace_back([&, gpu] {
      const auto& driver = rig.driver();
      driver.cuCtxPushCurrent(rig.context(gpu));
      driver.cuCtxEnablePeerAccess(rig.context((gpu + 1) % 8), 0);
      cu::Stream stream = nullptr;
      driver.cuStreamCreate(&stream, cu::stream_non_blocking);
      cu::DevicePtr memory = 0;
      driver.cuMemAlloc(&memory, bytes);
      for (int round = 0; round < 20; ++round) {
        const Content out = Rig::pattern(bytes, static_cast<unsigned>(gpu * 100 + round));
        Content in(bytes);
        driver.cuMemcpyHtoDAsync(memory, out.data(), bytes, stream);
        driver.cuMemcpyDtoHAsync(in.data(), memory, bytes, stream);
        if (driver.cuStreamSynchronize(stream) != Status::success || in != out) ++wrong;
      }
      driver.cuMemFree(memory);
      driver.cuStreamDestroy(stream);
      driver.cuCtxPopCurrent(nullptr);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace peerlane::sim

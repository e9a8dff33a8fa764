/// What is made to go wrong goes wrong there, then, and nowhere else.

#include "base/digest.hpp"
#include "rig.hpp"

namespace peerlane::sim {
namespace {

using testing::HasSubstr;

constexpr Bytes size = 64_KiB;

/// Two GPUs open to each other, with `to` inside a larger allocation.
struct Pair {
  explicit Pair(std::vector<std::string> faults = {}, std::uint64_t seed = 0) : rig("hgx-h200", {.seed = seed}) {
    for (const auto& fault : faults) {
      const auto added = rig.simulation().add_fault(fault);
      EXPECT_TRUE(added) << added.error().message();
    }
    EXPECT_EQ(rig.allow(0, 1), Status::success);
    EXPECT_EQ(rig.allow(1, 0), Status::success);
    from = rig.memory(0, size);
    block = rig.memory(1, 4 * size);
    to = block + size;
    rig.write(from, good, 0);
    rig.write(block, Content(4 * size, old_byte), 1);
  }
  Status copy(cu::DevicePtr destination, cu::DevicePtr source, int on) {
    const cu::Stream stream = rig.stream(on);
    const Status enqueued = rig.driver().cuMemcpyDtoDAsync(destination, source, size, stream);
    return enqueued != Status::success ? enqueued : rig.driver().cuStreamSynchronize(stream);
  }
  Status push() { return copy(to, from, 0); }
  Content arrived() { return rig.read(to, size, 1); }
  Content whole_block() { return rig.read(block, 4 * size, 1); }

  static constexpr unsigned char old_byte = 0x11;
  Rig rig;
  Content good = Rig::pattern(size);
  cu::DevicePtr from = 0, block = 0, to = 0;
};

TEST(Fault, WithoutOneTheBytesArrive) {
  Pair pair;
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_EQ(pair.arrived(), pair.good);
}

TEST(Fault, CorruptFlipsAFewBits) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pair pair({"corrupt:gpu:0>gpu:1"}, seed);
    ASSERT_EQ(pair.push(), Status::success) << "and says nothing";
    const Content seen = pair.arrived();
    int different = 0;
    for (Bytes i = 0; i < size; ++i) different += seen[i] != pair.good[i];
    EXPECT_GE(different, 1);
    EXPECT_LE(different, 8);
  }
}

TEST(Fault, CorruptIsDrawnFromTheSeed) {
  const auto outcome = [](std::uint64_t seed) {
    Pair pair({"corrupt:gpu:0>gpu:1"}, seed);
    pair.push();
    return pair.arrived();
  };
  EXPECT_EQ(outcome(5), outcome(5));
  EXPECT_NE(outcome(5), outcome(6));
}

TEST(Fault, StrikesItsDirectionOnly) {
  Pair pair({"corrupt:gpu:0>gpu:1"});
  pair.rig.write(pair.to, pair.good, 1);
  ASSERT_EQ(pair.copy(pair.from, pair.to, 1), Status::success);
  EXPECT_EQ(pair.rig.read(pair.from, size, 0), pair.good);
}

TEST(Fault, StrikesTheNthTimeOnly) {
  Pair pair({"drop:gpu:0>gpu:1:2"});
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_EQ(pair.arrived(), pair.good);
  pair.rig.write(pair.to, Content(size, 1), 1);
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_EQ(pair.arrived(), Content(size, 1));
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_EQ(pair.arrived(), pair.good);
}

TEST(Fault, AStagedCopyDoesNotCrossThePeerLink) {
  Rig rig("hgx-h200");
  ASSERT_TRUE(rig.simulation().add_fault("corrupt:gpu:0>gpu:1"));
  const auto from = rig.memory(0, size), to = rig.memory(1, size);
  rig.write(from, Rig::pattern(size), 0);
  const cu::Stream stream = rig.stream(0);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(to, from, size, stream), Status::success);
  ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(rig.read(to, size, 1), Rig::pattern(size));
}

TEST(Fault, DropWritesNothing) {
  Pair pair({"drop:gpu:0>gpu:1"});
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_EQ(pair.whole_block(), Content(4 * size, Pair::old_byte));
}

TEST(Fault, MisdirectLandsElsewhereInTheSameAllocation) {
  Pair pair({"misdirect:gpu:0>gpu:1"});
  ASSERT_EQ(pair.push(), Status::success);
  const Content block = pair.whole_block();
  EXPECT_TRUE(std::equal(block.begin() + size, block.begin() + 2 * size, Content(size, Pair::old_byte).begin()));
  const bool before = std::equal(pair.good.begin(), pair.good.end(), block.begin());
  const bool behind = std::equal(pair.good.begin(), pair.good.end(), block.begin() + 2 * size);
  EXPECT_TRUE(before != behind);
}

TEST(Fault, MisdirectWithoutRoomDrops) {
  Rig rig("hgx-h200");
  ASSERT_TRUE(rig.simulation().add_fault("misdirect:gpu:0>gpu:1"));
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const auto from = rig.memory(0, size), to = rig.memory(1, size);
  rig.write(to, Content(size, 5), 1);
  const cu::Stream stream = rig.stream(0);
  rig.use(0);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(to, from, size, stream), Status::success);
  ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_TRUE(Rig::is_all(rig.read(to, size, 1), 5));
}

TEST(Fault, MirrorFoolsTheWriterAndNotTheOwner) {
  Pair pair({"mirror:gpu:0>gpu:1"});
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_TRUE(Rig::is_all(pair.arrived(), Pair::old_byte)) << "the owner sees what was there";
  const auto back = pair.rig.memory(0, size);
  ASSERT_EQ(pair.copy(back, pair.to, 0), Status::success);
  EXPECT_EQ(pair.rig.read(back, size, 0), pair.good) << "the writer pulls back what it wrote";
  ASSERT_EQ(pair.copy(back, pair.to, 1), Status::success);
  EXPECT_TRUE(Rig::is_all(pair.rig.read(back, size, 0), Pair::old_byte)) << "the owner pushes what it has";
  pair.rig.write(pair.to, Content(size, 7), 1);
  ASSERT_EQ(pair.copy(back, pair.to, 0), Status::success);
  EXPECT_TRUE(Rig::is_all(pair.rig.read(back, size, 0), 7)) << "a real write ends the illusion";
}

TEST(Fault, MirrorFoolsTheWritersKernels) {
  Pair pair({"mirror:gpu:0>gpu:1"});
  ASSERT_EQ(pair.push(), Status::success);
  const auto digest_on = [&](int gpu) {
    auto* sum = reinterpret_cast<std::uint64_t*>(pair.rig.pinned(8));
    *sum = 0;
    const cu::Stream stream = pair.rig.stream(gpu);
    EXPECT_EQ(pair.rig.digest(gpu, pair.to, size, reinterpret_cast<cu::DevicePtr>(sum), stream), Status::success);
    EXPECT_EQ(pair.rig.driver().cuStreamSynchronize(stream), Status::success);
    return *sum;
  };
  const Content old(size, Pair::old_byte);
  EXPECT_EQ(digest_on(0), digest::sum(pair.good.data(), size, 0));
  EXPECT_EQ(digest_on(1), digest::sum(old.data(), size, 0));
}

TEST(Fault, StaleDeliversWhatTheSourceHeldBefore) {
  Pair pair({"stale:gpu:0>gpu:1"});
  const Content older = pair.good;
  pair.rig.write(pair.from, Rig::pattern(size, 99), 0);
  ASSERT_EQ(pair.push(), Status::success);
  EXPECT_EQ(pair.arrived(), older);
}

TEST(Fault, StaleFromAHostThatWritesUnseenLeavesTheDestination) {
  Pair pair({"stale:host>gpu:0"});
  unsigned char* pinned = pair.rig.pinned(size);
  std::fill_n(pinned, size, static_cast<unsigned char>(3));
  const cu::Stream stream = pair.rig.stream(0);
  const Content before = pair.rig.read(pair.from, size, 0);
  ASSERT_EQ(pair.rig.driver().cuMemcpyHtoDAsync(pair.from, pinned, size, stream), Status::success);
  ASSERT_EQ(pair.rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(pair.rig.read(pair.from, size, 0), before);
}

TEST(Fault, StuckNeverFinishesNeverWritesAndHoldsOnlyItsOwn) {
  Pair pair({"stuck:gpu:0>gpu:1"});
  const cu::Stream stream = pair.rig.stream(0);
  ASSERT_EQ(pair.rig.driver().cuMemcpyDtoDAsync(pair.to, pair.from, size, stream), Status::success);
  EXPECT_EQ(pair.rig.driver().cuStreamSynchronize(stream), Status::launch_timeout);
  EXPECT_EQ(pair.rig.driver().cuStreamQuery(stream), Status::not_ready);
  EXPECT_EQ(pair.rig.driver().cuMemFree(pair.to), Status::invalid_value);
  EXPECT_EQ(pair.rig.driver().cuMemFree(pair.block), Status::launch_timeout) << "memory in use is not given back";
  EXPECT_TRUE(Rig::is_all(pair.whole_block(), Pair::old_byte));
  const auto other = pair.rig.memory(2, size);
  pair.rig.write(other, pair.good, 2);
  EXPECT_EQ(pair.rig.read(other, size, 2), pair.good) << "other GPUs go on";
}

TEST(Fault, StuckAtAPlaceStopsItsEngines) {
  Rig rig("hgx-h200");
  ASSERT_TRUE(rig.simulation().add_fault("stuck:gpu:3"));
  const auto memory = rig.memory(3, size);
  const cu::Stream stream = rig.stream(3);
  ASSERT_EQ(rig.driver().cuMemsetD8Async(memory, 1, size, stream), Status::success);
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::launch_timeout);
}

TEST(Fault, ALostGpuAnswersNothingAndOthersGoOn) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(1, size);
  const cu::Stream stream = rig.stream(1);
  const cu::Event event = rig.mark(1, stream);
  ASSERT_EQ(rig.driver().cuMemsetD8Async(memory, 1, size, stream), Status::success);
  ASSERT_TRUE(rig.simulation().add_fault("lost:gpu:1"));
  const auto& driver = rig.driver();
  cu::DevicePtr pointer = 0;
  cu::Context context = nullptr;
  EXPECT_EQ(driver.cuMemAlloc(&pointer, 64), Status::device_unavailable);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Status::device_unavailable);
  EXPECT_EQ(driver.cuStreamQuery(stream), Status::device_unavailable);
  EXPECT_EQ(driver.cuEventQuery(event), Status::device_unavailable);
  EXPECT_EQ(driver.cuEventRecord(event, stream), Status::device_unavailable);
  EXPECT_EQ(driver.cuCtxSynchronize(), Status::device_unavailable);
  EXPECT_EQ(driver.cuMemFree(memory), Status::device_unavailable);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 1), Status::device_unavailable);
  const cu::Stream healthy = rig.stream(0);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(rig.memory(0, size), memory, size, healthy), Status::device_unavailable);
  const auto other = rig.memory(0, size);
  rig.write(other, Rig::pattern(size), 0);
  EXPECT_EQ(rig.read(other, size, 0), Rig::pattern(size));
}

TEST(Fault, AGpuIsLostAtItsNthOperation) {
  Rig rig("hgx-h200");
  ASSERT_TRUE(rig.simulation().add_fault("lost:gpu:0:3"));
  const auto memory = rig.memory(0, size);
  const cu::Stream stream = rig.stream(0);
  const auto& driver = rig.driver();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(driver.cuMemsetD8Async(memory, 1, size, stream), Status::success);
    ASSERT_EQ(driver.cuStreamSynchronize(stream), Status::success);
  }
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 1, size, stream), Status::success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Status::device_unavailable);
}

TEST(Fault, AFailingCallDoesNothing) {
  Rig rig("hgx-h200");
  ASSERT_TRUE(rig.simulation().add_fault("fail:cuMemAlloc:2"));
  ASSERT_TRUE(rig.simulation().add_fault("fail:cuMemcpyDtoDAsync"));
  const auto& driver = rig.driver();
  cu::DevicePtr first = 0, second = 0;
  EXPECT_EQ(driver.cuMemAlloc(&first, size), Status::success);
  EXPECT_EQ(driver.cuMemAlloc(&second, size), Status::out_of_memory);
  EXPECT_EQ(second, 0u);
  EXPECT_EQ(driver.cuMemAlloc(&second, size), Status::success);
  const cu::Stream stream = rig.stream(0);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(second, first, size, stream), Status::illegal_state);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(second, first, size, stream), Status::illegal_state);
}

TEST(Fault, AFailingReleaseComplainsButReleases) {
  Rig rig("hgx-h200");
  for (const char* fault : {"fail:cuMemFree", "fail:cuCtxPopCurrent", "fail:cuStreamDestroy"}) {
    ASSERT_TRUE(rig.simulation().add_fault(fault));
  }
  const auto& driver = rig.driver();
  const auto memory = rig.memory(0, size);
  const cu::Stream stream = rig.stream(0);
  EXPECT_EQ(driver.cuMemFree(memory), Status::illegal_state);
  EXPECT_EQ(driver.cuStreamDestroy(stream), Status::illegal_state);
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 1, 1, nullptr), Status::invalid_value) << "it is free";
  EXPECT_EQ(driver.cuStreamQuery(stream), Status::invalid_handle);
  driver.cuCtxPushCurrent(rig.context(3));
  EXPECT_EQ(driver.cuCtxPopCurrent(nullptr), Status::illegal_state);
  cu::Device device = -1;
  driver.cuCtxGetDevice(&device);
  EXPECT_EQ(device, 0);
}

TEST(Fault, HostPagesCanFailToo) {
  Rig rig("hgx-h200");
  ASSERT_TRUE(rig.simulation().add_fault("fail:host_pages:1"));
  EXPECT_EQ(rig.driver().host_pages(4096, 0), nullptr);
  void* pages = rig.driver().host_pages(4096, 0);
  ASSERT_NE(pages, nullptr);
  rig.driver().free_host_pages(pages, 4096);
}

TEST(Fault, EveryCallCanBeMadeToFail) {
  Rig rig("hgx-h200");
  for (const auto& [name, count] : rig.simulation().calls()) {
    EXPECT_TRUE(rig.simulation().add_fault("fail:" + std::string(name) + ":1000000")) << name;
  }
}

TEST(Fault, HostMatchesEveryNodeAndPageableMemory) {
  for (const char* fault : {"drop:host>gpu:0", "drop:gpu:0"}) {
    Rig rig("hgx-h200");
    ASSERT_TRUE(rig.simulation().add_fault(fault));
    const auto memory = rig.memory(0, size);
    rig.write(memory, Rig::pattern(size), 0);
    EXPECT_NE(rig.read(memory, size, 0), Rig::pattern(size)) << fault;
  }
}

TEST(Fault, WordsThatMakeNoSenseAreNamed) {
  Rig rig("rtx3090-pair");
  const auto refusal = [&](const std::string& text) {
    const auto added = rig.simulation().add_fault(text);
    EXPECT_FALSE(added) << text;
    if (added) return std::string();
    EXPECT_EQ(added.error().kind, ErrorKind::invalid_argument);
    EXPECT_THAT(added.error().message(), HasSubstr(text));
    return added.error().message();
  };
  EXPECT_THAT(refusal("melt:gpu:0"), HasSubstr("corrupt, drop, misdirect, mirror, stale, stuck, lost or fail"));
  EXPECT_THAT(refusal("drop"), HasSubstr("KIND:WHERE[:N]"));
  EXPECT_THAT(refusal("drop:gpu:9"), HasSubstr("gpu:0, gpu:1, host"));
  EXPECT_THAT(refusal("drop:gpu:0>gpu:9"), HasSubstr("'gpu:9' is no place of rtx3090-pair"));
  EXPECT_THAT(refusal("drop:gpu:0>"), HasSubstr("is no place"));
  EXPECT_THAT(refusal("drop:gpu"), HasSubstr("is no place"));
  EXPECT_THAT(refusal("drop:gpu:x"), HasSubstr("is no place"));
  EXPECT_THAT(refusal("drop:file:0"), HasSubstr("is no place"));
  EXPECT_THAT(refusal("drop:host:99"), HasSubstr("is no place"));
  EXPECT_THAT(refusal("fail:cuMemAllok"), HasSubstr("cuMemAlloc,"));
  EXPECT_THAT(refusal("fail:cuMemAlloc:0"), HasSubstr("N is 1"));
  EXPECT_THAT(refusal("fail:cuMemAlloc:-1"), HasSubstr("N is 1"));
  EXPECT_THAT(refusal("fail:cuMemAlloc:x"), HasSubstr("'x' is no count"));
  EXPECT_THAT(refusal("drop:gpu:0:1:2"), HasSubstr("N is 1"));
  EXPECT_THAT(refusal("drop:gpu:0>gpu:1>gpu:0"), HasSubstr("is no count"));
  EXPECT_THAT(refusal("lost:host"), HasSubstr("only a GPU"));
  EXPECT_THAT(refusal("lost:gpu:0>gpu:1"), HasSubstr("only a GPU"));
  EXPECT_THAT(refusal("drop:gpu:0:99999999999999999999"), HasSubstr("is no count"));
}

TEST(Fault, AKernelWithoutAccessKillsItsContextAlone) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(1, 0), Status::success);  // the other way: no help
  const auto foreign = rig.memory(1, size), sum = rig.memory(0, 8), own = rig.memory(0, size);
  const cu::Stream stream = rig.stream(0), bystander = rig.stream(0), healthy = rig.stream(1);
  const auto& driver = rig.driver();
  rig.use(0);
  EXPECT_EQ(rig.digest(0, foreign, size, sum, stream), Status::success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Status::illegal_address);
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(driver.cuMemAlloc(&pointer, 64), Status::illegal_address);
  EXPECT_EQ(driver.cuStreamQuery(bystander), Status::illegal_address);
  EXPECT_EQ(driver.cuMemFree(own), Status::illegal_address);
  rig.use(1);
  EXPECT_EQ(driver.cuMemsetD8Async(foreign, 1, size, healthy), Status::success);
  EXPECT_EQ(driver.cuStreamSynchronize(healthy), Status::success);
  driver.cuDevicePrimaryCtxRelease(0);
  cu::Context again = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&again, 0), Status::success) << "released and retained, it is new";
  driver.cuCtxSetCurrent(again);
  EXPECT_EQ(driver.cuMemAlloc(&pointer, 64), Status::success);
}

TEST(Fault, AKernelThatLeavesItsAllocationDies) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(0, size), sum = rig.memory(0, 8);
  const cu::Stream stream = rig.stream(0);
  EXPECT_EQ(rig.digest(0, memory + 8, size, sum, stream), Status::success);
  EXPECT_EQ(rig.driver().cuCtxSynchronize(), Status::illegal_address);
}

TEST(Fault, AKernelCannotReachPageableMemory) {
  Rig rig("hgx-h200");
  Content pageable(size);
  const auto sum = rig.memory(0, 8);
  const cu::Stream stream = rig.stream(0);
  EXPECT_EQ(rig.digest(0, reinterpret_cast<cu::DevicePtr>(pageable.data()), size, sum, stream), Status::success);
  EXPECT_EQ(rig.driver().cuStreamSynchronize(stream), Status::illegal_address);
}

TEST(Kernel, ComputesWhatTheHostComputes) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  for (const Bytes bytes : {Bytes{1}, Bytes{8}, Bytes{4099}, Bytes{1_MiB + 3}}) {
    const auto memory = rig.memory(1, bytes);
    auto* sum = reinterpret_cast<std::uint64_t*>(rig.pinned(8));
    *sum = 5;
    const cu::Stream stream = rig.stream(0);
    rig.use(0);
    ASSERT_EQ(rig.fill(0, memory, bytes, 42, stream), Status::success);
    ASSERT_EQ(rig.digest(0, memory, bytes, reinterpret_cast<cu::DevicePtr>(sum), stream), Status::success);
    ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
    Content expected(bytes);
    digest::fill(expected.data(), bytes, 0, 42);
    EXPECT_EQ(rig.read(memory, bytes, 1), expected);
    EXPECT_EQ(*sum, 5 + digest::sum(expected.data(), bytes, 0));
  }
}

TEST(Kernel, LaunchesAreChecked) {
  Rig rig("hgx-h200");
  const cu::Stream stream = rig.stream(0);
  const cu::Function kernel = rig.function(0, "peerlane_fill");
  cu::DevicePtr memory = rig.memory(0, 64);
  std::uint64_t count = 64, offset = 0, seed = 1;
  void* parameters[] = {&memory, &count, &offset, &seed};
  const auto& driver = rig.driver();
  EXPECT_EQ(driver.cuLaunchKernel(kernel, 0, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), Status::invalid_value);
  EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, stream, parameters, nullptr), Status::invalid_value);
  EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), Status::invalid_value);
  rig.use(1);
  EXPECT_EQ(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), Status::invalid_handle);
  cu::Module module = nullptr;
  cu::Function function = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&module, nullptr), Status::invalid_value);
  ASSERT_EQ(driver.cuModuleLoadData(&module, "image"), Status::success);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "no_such_kernel"), Status::not_found);
  ASSERT_EQ(driver.cuModuleGetFunction(&function, module, "peerlane_fill"), Status::success);
  EXPECT_EQ(driver.cuModuleUnload(module), Status::success);
  EXPECT_EQ(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), Status::invalid_handle);
}

}  // namespace
}  // namespace peerlane::sim

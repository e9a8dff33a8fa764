/// Pools and virtual memory management: access that EnablePeerAccess does not give.

#include "rig.hpp"

namespace peerlane::sim {
namespace {

constexpr Bytes size = 64_MiB;

cu::Location at(int gpu) {
  return {cu::location_device, gpu};
}
cu::AccessDescription access(int gpu, int flags = cu::access_read_write) {
  return {at(gpu), flags};
}

double rate_of_copy(Rig& rig, cu::DevicePtr to, cu::DevicePtr from, int on) {
  const cu::Stream stream = rig.stream(on);
  const cu::Event start = rig.mark(on, stream);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(to, from, size, stream), Status::success);
  return static_cast<double>(size) / rig.elapsed_s(start, rig.mark(on, stream));
}

cu::Pool pool_on(Rig& rig, int gpu) {
  cu::PoolProperties properties;
  properties.location = at(gpu);
  cu::Pool pool = nullptr;
  EXPECT_EQ(rig.driver().cuMemPoolCreate(&pool, &properties), Status::success);
  return pool;
}

cu::DevicePtr from_pool(Rig& rig, cu::Pool pool, int gpu, Bytes bytes = size) {
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(rig.driver().cuMemAllocFromPoolAsync(&pointer, bytes, pool, rig.stream(gpu)), Status::success);
  return pointer;
}

Status launch_on(Rig& rig, int gpu, cu::DevicePtr memory) {
  const auto sum = rig.memory(gpu, 8);
  const cu::Stream stream = rig.stream(gpu);
  EXPECT_EQ(rig.digest(gpu, memory, 1024, sum, stream), Status::success) << "a launch never notices";
  return rig.driver().cuStreamSynchronize(stream);
}

TEST(Pool, CopiesAreStagedThenHalfOpenThenOpen) {
  Rig rig("hgx-h200");
  const auto pool = pool_on(rig, 1);
  const auto to = from_pool(rig, pool, 1);
  const auto from = rig.memory(0, size);
  const double staged = rate_of_copy(rig, to, from, 0);
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const double enabled = rate_of_copy(rig, to, from, 0);
  const auto opened = access(0);
  ASSERT_EQ(rig.driver().cuMemPoolSetAccess(pool, &opened, 1), Status::success);
  const double open = rate_of_copy(rig, to, from, 0);
  EXPECT_NEAR(staged, 37.6e9, 2e9);
  EXPECT_NEAR(enabled / open, 0.94, 0.01);
  EXPECT_GT(open, 350e9);
}

TEST(Pool, EnablePeerAccessOpensNoPoolWhateverThePointerSays) {
  Rig rig("hgx-h200");
  const auto pool = pool_on(rig, 1);
  const auto memory = from_pool(rig, pool, 1);
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  rig.use(0);
  int flags = -1;
  EXPECT_EQ(rig.driver().cuPointerGetAttribute(&flags, cu::pointer_access_flags, memory), Status::success);
  EXPECT_EQ(flags, 3) << "the driver's own wrong answer";
  cu::Location location = at(0);
  EXPECT_EQ(rig.driver().cuMemPoolGetAccess(&flags, pool, &location), Status::success);
  EXPECT_EQ(flags, 0) << "and the true one";
  EXPECT_EQ(launch_on(rig, 0, memory), Status::illegal_address);
}

TEST(Pool, SetAccessOpensItForKernels) {
  Rig rig("hgx-h200");
  const auto pool = pool_on(rig, 1);
  const auto memory = from_pool(rig, pool, 1);
  const auto opened = access(0);
  ASSERT_EQ(rig.driver().cuMemPoolSetAccess(pool, &opened, 1), Status::success);
  EXPECT_EQ(launch_on(rig, 0, memory), Status::success);
  EXPECT_EQ(launch_on(rig, 2, memory), Status::illegal_address);
}

TEST(Pool, AnEmptyPoolBelievesAnIncapablePeerAndTheNextAllocationFails) {
  Rig rig("rtx4090-4");
  const auto pool = pool_on(rig, 0);
  const auto wish = access(1);
  EXPECT_EQ(rig.driver().cuMemPoolSetAccess(pool, &wish, 1), Status::success);
  cu::DevicePtr pointer = 0;
  EXPECT_NE(rig.driver().cuMemAllocFromPoolAsync(&pointer, 64, pool, rig.stream(0)), Status::success);
}

TEST(Pool, AFullPoolRefusesAnIncapablePeer) {
  Rig rig("rtx4090-4");
  const auto pool = pool_on(rig, 0);
  from_pool(rig, pool, 0);
  const auto wish = access(1);
  EXPECT_EQ(rig.driver().cuMemPoolSetAccess(pool, &wish, 1), Status::peer_access_unsupported);
}

TEST(Pool, TheOwnersAccessCannotBeRemoved) {
  Rig rig("hgx-h200");
  const auto pool = pool_on(rig, 1);
  const auto wish = access(1, cu::access_none);
  EXPECT_EQ(rig.driver().cuMemPoolSetAccess(pool, &wish, 1), Status::invalid_value);
}

TEST(Pool, FreesInStreamOrder) {
  Rig rig("hgx-h200");
  cu::Pool pool = nullptr;
  ASSERT_EQ(rig.driver().cuDeviceGetDefaultMemPool(&pool, 0), Status::success);
  const cu::Stream stream = rig.stream(0);
  const auto memory = from_pool(rig, pool, 0);
  const auto other = rig.memory(0, size);
  cu::Pool of_pointer = nullptr;
  EXPECT_EQ(rig.driver().cuPointerGetAttribute(&of_pointer, cu::pointer_pool, memory), Status::success);
  EXPECT_EQ(of_pointer, pool);
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(other, memory, size, stream), Status::success);
  EXPECT_EQ(rig.driver().cuMemFreeAsync(memory, stream), Status::success);
  EXPECT_EQ(rig.driver().cuMemFreeAsync(memory, stream), Status::invalid_value) << "freed twice";
  EXPECT_EQ(rig.driver().cuMemFreeAsync(other, stream), Status::invalid_value) << "not from a pool";
  ASSERT_EQ(rig.driver().cuStreamSynchronize(stream), Status::success);
  EXPECT_EQ(rig.driver().cuMemsetD8Async(memory, 1, 1, stream), Status::invalid_value);
}

/// Memory of one GPU, mapped and open to its owner alone.
struct Mapped {
  Mapped(Rig& rig, int gpu) : rig_(rig) {
    cu::AllocationProperties properties;
    properties.location = at(gpu);
    std::size_t granularity = 0;
    EXPECT_EQ(rig.driver().cuMemGetAllocationGranularity(&granularity, &properties, 0), Status::success);
    EXPECT_EQ(granularity, 2_MiB);
    EXPECT_EQ(rig.driver().cuMemCreate(&handle, size, &properties, 0), Status::success);
    EXPECT_EQ(rig.driver().cuMemAddressReserve(&pointer, size, 0, 0, 0), Status::success);
    EXPECT_EQ(rig.driver().cuMemMap(pointer, size, 0, handle, 0), Status::success);
    open(gpu);
  }
  void open(int gpu) {
    const auto wish = access(gpu);
    EXPECT_EQ(rig_.driver().cuMemSetAccess(pointer, size, &wish, 1), Status::success);
  }
  Rig& rig_;
  cu::AllocationHandle handle = 0;
  cu::DevicePtr pointer = 0;
};

TEST(Vmm, BelongsToNobodyUntilAccessIsSet) {
  Rig rig("hgx-h200");
  Mapped mapped(rig, 1);
  const auto flags_for = [&](int gpu) {
    rig.use(gpu);
    int flags = -1;
    rig.driver().cuPointerGetAttribute(&flags, cu::pointer_access_flags, mapped.pointer);
    unsigned long long told = 9;
    const cu::Location location = at(gpu);
    EXPECT_EQ(rig.driver().cuMemGetAccess(&told, &location, mapped.pointer), Status::success);
    EXPECT_EQ(told, static_cast<unsigned long long>(flags));
    return flags;
  };
  EXPECT_EQ(flags_for(1), 3);
  EXPECT_EQ(flags_for(0), 0);
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  EXPECT_EQ(flags_for(0), 0) << "EnablePeerAccess gives nothing here";
  EXPECT_EQ(launch_on(rig, 0, mapped.pointer), Status::illegal_address);
}

TEST(Vmm, PlainCopiesNeedAccessOfTheCurrentContextAndNamedOnesDoNot) {
  Rig rig("hgx-h200");
  Mapped mapped(rig, 1);
  const auto from = rig.memory(0, size);
  const cu::Stream stream = rig.stream(0);
  const auto& driver = rig.driver();
  EXPECT_EQ(driver.cuMemcpyAsync(mapped.pointer, from, size, stream), Status::invalid_value);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(mapped.pointer, from, size, stream), Status::invalid_value);
  EXPECT_EQ(driver.cuMemcpyPeerAsync(mapped.pointer, rig.context(1), from, rig.context(0), size, stream),
            Status::success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Status::success);
  mapped.open(0);
  EXPECT_GT(rate_of_copy(rig, mapped.pointer, from, 0), 350e9);
  EXPECT_EQ(launch_on(rig, 0, mapped.pointer), Status::success);
}

TEST(Vmm, IsUndoneInOrder) {
  Rig rig("hgx-h200");
  const auto& driver = rig.driver();
  Mapped mapped(rig, 0);
  std::size_t before = 0, after = 0, total = 0;
  driver.cuMemGetInfo(&before, &total);
  EXPECT_EQ(driver.cuMemAddressFree(mapped.pointer, size), Status::invalid_value) << "still mapped";
  EXPECT_EQ(driver.cuMemUnmap(mapped.pointer, size / 2), Status::invalid_value) << "cuts a mapping";
  EXPECT_EQ(driver.cuMemRelease(mapped.handle), Status::success) << "the mapping keeps the bytes";
  EXPECT_EQ(driver.cuMemRelease(mapped.handle), Status::invalid_value);
  driver.cuMemGetInfo(&after, &total);
  EXPECT_EQ(before, after);
  rig.write(mapped.pointer, Rig::pattern(1000), 0);
  EXPECT_EQ(rig.read(mapped.pointer, 1000, 0), Rig::pattern(1000));
  EXPECT_EQ(driver.cuMemUnmap(mapped.pointer, size), Status::success);
  driver.cuMemGetInfo(&after, &total);
  EXPECT_EQ(after, before + size);
  const cu::Stream stream = rig.stream(0);
  EXPECT_EQ(driver.cuMemsetD8Async(mapped.pointer, 0, 1, stream), Status::invalid_value) << "reserved, not mapped";
  EXPECT_EQ(driver.cuMemAddressFree(mapped.pointer, size), Status::success);
  EXPECT_EQ(driver.cuMemAddressFree(mapped.pointer, size), Status::invalid_value);
}

TEST(Vmm, WantsItsGranularity) {
  Rig rig("hgx-h200");
  cu::AllocationProperties properties;
  cu::AllocationHandle handle = 0;
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(rig.driver().cuMemCreate(&handle, 1_MiB, &properties, 0), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemAddressReserve(&pointer, 1000, 0, 0, 0), Status::invalid_value);
  ASSERT_EQ(rig.driver().cuMemAddressReserve(&pointer, 4_MiB, 64_MiB, 0, 0), Status::success);
  EXPECT_EQ(pointer % 64_MiB, 0u);
  ASSERT_EQ(rig.driver().cuMemCreate(&handle, 2_MiB, &properties, 0), Status::success);
  EXPECT_EQ(rig.driver().cuMemMap(pointer, 4_MiB, 0, handle, 0), Status::invalid_value) << "larger than the memory";
  EXPECT_EQ(rig.driver().cuMemMap(pointer, 2_MiB, 0, handle, 0), Status::success);
  EXPECT_EQ(rig.driver().cuMemMap(pointer, 2_MiB, 0, handle, 0), Status::invalid_value) << "taken";
  const auto wish = access(0);
  EXPECT_EQ(rig.driver().cuMemSetAccess(pointer, 4_MiB, &wish, 1), Status::invalid_value) << "half of it is a hole";
}

TEST(Vmm, AccessForAnIncapablePeerIsRefused) {
  Rig rig("rtx4090-4");
  Mapped mapped(rig, 0);
  const auto wish = access(1);
  EXPECT_EQ(rig.driver().cuMemSetAccess(mapped.pointer, size, &wish, 1), Status::peer_access_unsupported);
}

}  // namespace
}  // namespace peerlane::sim

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include "unit/memory/world.hpp"

namespace peerlane::memory {
namespace {

using test::must;
using test::World;
using testing::HasSubstr;
using vendor::ContextScope;

const void* pointer(std::uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

ErrorKind refusal(World& world, std::uint64_t address, Bytes bytes) {
  const auto origin = world.memory->origin(pointer(address), bytes);
  EXPECT_FALSE(origin.has_value());
  return origin ? ErrorKind::driver : origin.error().kind;
}

RC_GTEST_PROP(Origin, OfAnInteriorPointerIsTheAllocationsPlaceExactlyWhileInside, ()) {
  World world("dgx-h100");
  const auto bytes = *rc::gen::inRange<Bytes>(1, 100'000);
  const Place place = *rc::gen::element(gpu(0), gpu(5), host());
  const Buffer buffer = must(world.memory->allocate(place, bytes));
  const auto offset = *rc::gen::inRange<Bytes>(0, bytes);
  const auto count = *rc::gen::inRange<Bytes>(0, 2 * bytes);
  const auto origin = world.memory->origin(buffer.data() + offset, count);
  RC_ASSERT(origin.has_value() == (count <= bytes - offset));
  if (origin) {
    RC_ASSERT(origin->place == place);
    RC_ASSERT(origin->address == buffer.region().address + offset);
    RC_ASSERT(origin->bytes == count);
  } else {
    RC_ASSERT(origin.error().kind == ErrorKind::invalid_argument);
  }
}

TEST(Origin, OfMemoryUnknownToTheDriverIsPageable) {
  World world("dgx-h100");
  std::vector<char> heap(1000);
  int stack = 0;
  for (const void* address : {static_cast<const void*>(heap.data()), static_cast<const void*>(&stack)}) {
    EXPECT_EQ(must(world.memory->origin(address, sizeof stack)).place, mem());
    const PointerFacts facts = must(pointer_facts(world.driver(), address));
    EXPECT_EQ(facts.kind, AllocationKind::pageable);
    EXPECT_EQ(facts.gpu, -1);
  }
}

TEST(Origin, OfNoAddressOrOneBeyondTheAddressSpaceMakesNoSense) {
  World world("dgx-h100");
  EXPECT_EQ(refusal(world, 0, 1), ErrorKind::invalid_argument);
  EXPECT_TRUE(world.memory->origin(nullptr, 0));
  EXPECT_EQ(refusal(world, 1000, ~Bytes{0}), ErrorKind::invalid_argument);
  EXPECT_EQ(refusal(world, 8, 8), ErrorKind::invalid_argument) << "nothing is mapped there";
}

TEST(Origin, OfFreedMemoryIsRefusedInsteadOfTakenForPageable) {
  World world("dgx-h100");
  std::uint64_t address = 0;
  {
    const Buffer buffer = must(world.memory->allocate(gpu(0), 1_MiB));
    address = buffer.region().address;
  }
  const auto origin = world.memory->origin(pointer(address), 16);
  ASSERT_FALSE(origin);
  EXPECT_THAT(origin.error().message(), HasSubstr("freed"));
}

TEST(Origin, OfHostMemoryThatEndsTooEarlyIsRefused) {
  World world("dgx-h100");
  void* pages = mmap(nullptr, 2 * 64_KiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(pages) + 64_KiB, 64_KiB, PROT_NONE), 0);
  EXPECT_TRUE(world.memory->origin(pages, 64_KiB));
  EXPECT_FALSE(world.memory->origin(pages, 64_KiB + 1));
  munmap(pages, 2 * 64_KiB);
}

TEST(PointerFacts, TellAnAllocationFromTheNextAtTheSameAddress) {
  World world("dgx-h100");
  const auto id = [&] {
    const Buffer buffer = must(world.memory->allocate(gpu(0), 4096));
    const PointerFacts facts = must(pointer_facts(world.driver(), buffer.data() + 100));
    EXPECT_EQ(facts.kind, AllocationKind::device);
    EXPECT_EQ(facts.gpu, 0);
    EXPECT_EQ(facts.base, buffer.region().address);
    EXPECT_EQ(facts.bytes, 4096u);
    EXPECT_EQ(facts.context, must(world.contexts->context(0)));
    return facts.buffer_id;
  };
  EXPECT_NE(id(), id());
}

TEST(PointerFacts, KnowMemoryOfOthers) {
  World world("dgx-h100");
  const auto& driver = world.driver();
  ContextScope scope(driver, must(world.contexts->context(3)));
  const cu::Stream stream = world.stream(3);
  cu::Pool pool = nullptr;
  ASSERT_EQ(driver.cuDeviceGetDefaultMemPool(&pool, 3), cu::Status::success);
  cu::DevicePtr of_pool = 0;
  ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&of_pool, 8192, pool, stream), cu::Status::success);
  EXPECT_EQ(must(pointer_facts(driver, pointer(of_pool + 1))).kind, AllocationKind::pool);
  EXPECT_EQ(must(world.memory->origin(pointer(of_pool + 1), 8191)).place, gpu(3));
  EXPECT_EQ(refusal(world, of_pool + 1, 8192), ErrorKind::invalid_argument);
  EXPECT_EQ(driver.cuMemFreeAsync(of_pool, stream), cu::Status::success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), cu::Status::success);

  void* pinned = nullptr;
  ASSERT_EQ(driver.cuMemHostAlloc(&pinned, 4096, cu::host_alloc_portable), cu::Status::success);
  EXPECT_EQ(must(pointer_facts(driver, pinned)).kind, AllocationKind::host_pinned);
  EXPECT_EQ(must(world.memory->origin(pinned, 4096)).place, host());
  EXPECT_EQ(driver.cuMemFreeHost(pinned), cu::Status::success);
}

TEST(PointerFacts, KnowMappedPhysicalMemory) {
  World world("dgx-h100");
  const auto& driver = world.driver();
  ContextScope scope(driver, must(world.contexts->context(2)));
  cu::AllocationProperties properties;
  properties.location = {cu::location_device, 2};
  cu::AllocationHandle handle = 0;
  cu::DevicePtr address = 0;
  ASSERT_EQ(driver.cuMemCreate(&handle, 2_MiB, &properties, 0), cu::Status::success);
  ASSERT_EQ(driver.cuMemAddressReserve(&address, 2_MiB, 0, 0, 0), cu::Status::success);
  ASSERT_EQ(driver.cuMemMap(address, 2_MiB, 0, handle, 0), cu::Status::success);
  EXPECT_EQ(must(pointer_facts(driver, pointer(address))).kind, AllocationKind::vmm);
  EXPECT_EQ(must(world.memory->origin(pointer(address), 2_MiB)).place, gpu(2));
  EXPECT_EQ(driver.cuMemUnmap(address, 2_MiB), cu::Status::success);
  EXPECT_EQ(driver.cuMemRelease(handle), cu::Status::success);
  EXPECT_EQ(driver.cuMemAddressFree(address, 2_MiB), cu::Status::success);
}

}  // namespace
}  // namespace peerlane::memory

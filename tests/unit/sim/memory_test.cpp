/// Memory: hostile to the host, counted, and known after it is freed.

#include <cstring>

#include "rig.hpp"
#include "sim/reservation.hpp"

namespace peerlane::sim {
namespace {

TEST(Memory, TheHostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Rig rig("laptop-1gpu");
  const auto* device = reinterpret_cast<volatile unsigned char*>(rig.memory(0, 4_MiB));
  EXPECT_DEATH((void)device[100], "");
  EXPECT_DEATH(*const_cast<volatile unsigned char*>(device) = 1, "");
}

TEST(Memory, TheHostCannotTouchFreedPinnedMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Rig rig("laptop-1gpu");
  volatile unsigned char* pinned = rig.pinned(4096);
  pinned[0] = 1;
  ASSERT_EQ(rig.driver().cuMemFreeHost(const_cast<unsigned char*>(pinned)), Status::success);
  EXPECT_DEATH((void)pinned[0], "");
}

TEST(Memory, FreshMemoryIsPoisonEverywhere) {
  Rig rig("laptop-1gpu");
  for (const Bytes bytes : {1_KiB, 2_MiB, 33_MiB}) {
    const Content seen = rig.read(rig.memory(0, bytes), bytes, 0);
    EXPECT_TRUE(Rig::is_all(seen, static_cast<unsigned char>(poison))) << bytes;
    const unsigned char* pinned = rig.pinned(bytes);
    EXPECT_EQ(pinned[0], static_cast<unsigned char>(poison));
    EXPECT_EQ(pinned[bytes - 1], static_cast<unsigned char>(poison));
  }
}

TEST(Memory, AnAddressThatComesAgainIsPoisonedAndHasAnotherId) {
  Rig rig("laptop-1gpu");
  const auto id_of = [&](cu::DevicePtr pointer) {
    unsigned long long id = 0;
    EXPECT_EQ(rig.driver().cuPointerGetAttribute(&id, cu::pointer_buffer_id, pointer), Status::success);
    return id;
  };
  const auto first = rig.memory(0, 1_MiB);
  const auto first_id = id_of(first);
  rig.write(first, Rig::pattern(1_MiB), 0);
  ASSERT_EQ(rig.driver().cuMemFree(first), Status::success);
  const auto second = rig.memory(0, 1_MiB);
  EXPECT_EQ(second, first);
  EXPECT_NE(id_of(second), first_id);
  EXPECT_TRUE(Rig::is_all(rig.read(second, 1_MiB, 0), static_cast<unsigned char>(poison)));
}

TEST(Memory, FreedAddressesAreInvalid) {
  Rig rig("laptop-1gpu");
  const cu::Stream stream = rig.stream(0);
  const auto live = rig.memory(0, 4096);
  const auto freed = rig.memory(0, 8192);
  ASSERT_EQ(rig.driver().cuMemFree(freed), Status::success);
  int value = 0;
  char content[16] = {};
  EXPECT_EQ(rig.driver().cuMemFree(freed), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuPointerGetAttribute(&value, cu::pointer_memory_type, freed), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyAsync(live, freed, 16, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyAsync(freed + 100, live, 16, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyDtoHAsync(content, freed, 16, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyHtoDAsync(freed, content, 16, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemsetD8Async(freed, 0, 16, stream), Status::invalid_value);
}

TEST(Memory, FreeingWhatIsNoBaseIsInvalid) {
  Rig rig("laptop-1gpu");
  const auto memory = rig.memory(0, 4096);
  char on_the_stack[16];
  EXPECT_EQ(rig.driver().cuMemFree(memory + 1), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemFree(reinterpret_cast<cu::DevicePtr>(on_the_stack)), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemFreeHost(on_the_stack), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemFree(0), Status::success);
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(rig.driver().cuMemAlloc(&pointer, 0), Status::invalid_value);
}

TEST(Memory, CopiesThatLeaveTheirAllocationAreInvalid) {
  Rig rig("laptop-1gpu");
  const cu::Stream stream = rig.stream(0);
  const auto a = rig.memory(0, 1000);
  const auto b = rig.memory(0, 1000);
  unsigned char* pinned = rig.pinned(500);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a, 1001, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(b + 1, a, 1000, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a + 999, 2, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a, ~std::size_t{0}, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyHtoDAsync(a, pinned, 501, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemsetD8Async(a + 500, 1, 501, stream), Status::invalid_value);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a, 1000, stream), Status::success);
  EXPECT_EQ(rig.driver().cuMemcpyDtoDAsync(b, a, 0, stream), Status::success);
}

TEST(Memory, RunsOutByTheGpusSize) {
  Rig rig("dgx-h100");
  std::size_t free = 0, total = 0;
  EXPECT_EQ(rig.driver().cuMemGetInfo(&free, &total), Status::success);
  EXPECT_EQ(total, rig.machine().gpu(0)->memory);
  EXPECT_EQ(free, total);
  const auto most = rig.memory(0, total - 1_MiB);
  rig.driver().cuMemGetInfo(&free, &total);
  EXPECT_EQ(free, 1_MiB);
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(rig.driver().cuMemAlloc(&pointer, 2_MiB), Status::out_of_memory);
  EXPECT_EQ(rig.driver().cuMemAlloc(&pointer, ~std::size_t{0}), Status::out_of_memory);
  rig.use(1);
  EXPECT_EQ(rig.driver().cuMemAlloc(&pointer, 2_MiB), Status::success) << "another GPU has its own";
  EXPECT_EQ(rig.driver().cuMemFree(most), Status::success);
  rig.use(0);
  rig.driver().cuMemGetInfo(&free, &total);
  EXPECT_EQ(free, total);
}

TEST(Memory, PointersTellTheirOrigin) {
  Rig rig("dgx-h100");
  const auto device = rig.memory(3, 4096);
  unsigned type = 0;
  int ordinal = -1;
  cu::Context context = nullptr;
  cu::DevicePtr start = 0;
  std::size_t bytes = 0;
  const auto& driver = rig.driver();
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, cu::pointer_memory_type, device + 5), Status::success);
  EXPECT_EQ(type, cu::memory_device);
  EXPECT_EQ(driver.cuPointerGetAttribute(&ordinal, cu::pointer_device_ordinal, device + 5), Status::success);
  EXPECT_EQ(ordinal, 3);
  EXPECT_EQ(driver.cuPointerGetAttribute(&context, cu::pointer_context, device), Status::success);
  EXPECT_EQ(context, rig.context(3));
  EXPECT_EQ(driver.cuPointerGetAttribute(&start, cu::pointer_range_start, device + 77), Status::success);
  EXPECT_EQ(start, device);
  EXPECT_EQ(driver.cuPointerGetAttribute(&bytes, cu::pointer_range_size, device + 77), Status::success);
  EXPECT_EQ(bytes, 4096u);
  EXPECT_EQ(driver.cuMemGetAddressRange(&start, &bytes, device + 4095), Status::success);
  EXPECT_EQ(start, device);
  EXPECT_EQ(driver.cuMemGetAddressRange(&start, &bytes, device + 4096), Status::invalid_value);

  const auto pinned = reinterpret_cast<cu::DevicePtr>(rig.pinned(4096));
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, cu::pointer_memory_type, pinned), Status::success);
  EXPECT_EQ(type, cu::memory_host);
  int stack_word = 0;
  const auto pageable = reinterpret_cast<cu::DevicePtr>(&stack_word);
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, cu::pointer_memory_type, pageable), Status::invalid_value);
}

TEST(Memory, AccessFlagsFollowPeerAccessAndTheContext) {
  Rig rig("hgx-h200");
  const auto memory = rig.memory(1, 4096);
  const auto flags_for = [&](int gpu) {
    rig.use(gpu);
    int flags = -1;
    EXPECT_EQ(rig.driver().cuPointerGetAttribute(&flags, cu::pointer_access_flags, memory), Status::success);
    return flags;
  };
  EXPECT_EQ(flags_for(1), 3);
  EXPECT_EQ(flags_for(0), 0);
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  EXPECT_EQ(flags_for(0), 3);
  EXPECT_EQ(flags_for(2), 0);
}

TEST(Memory, RegisteringHasItsOwnErrors) {
  Rig rig("laptop-1gpu");
  const auto& driver = rig.driver();
  std::vector<char> block(1 << 16);
  EXPECT_EQ(driver.cuMemHostUnregister(block.data()), Status::host_memory_not_registered);
  EXPECT_EQ(driver.cuMemHostRegister(block.data(), block.size(), cu::host_register_portable), Status::success);
  EXPECT_EQ(driver.cuMemHostRegister(block.data(), block.size(), 0), Status::host_memory_already_registered);
  EXPECT_EQ(driver.cuMemHostRegister(block.data() + 100, 10, 0), Status::host_memory_already_registered);
  EXPECT_EQ(driver.cuMemHostUnregister(block.data() + 1), Status::invalid_value);
  EXPECT_EQ(driver.cuMemHostUnregister(block.data()), Status::success);
  EXPECT_EQ(driver.cuMemHostUnregister(block.data()), Status::host_memory_not_registered);
  EXPECT_EQ(driver.cuMemHostRegister(reinterpret_cast<void*>(rig.memory(0, 4096)), 4096, 0), Status::invalid_value);
  EXPECT_EQ(driver.cuMemHostRegister(nullptr, 4096, 0), Status::invalid_value);
  EXPECT_EQ(driver.cuMemHostRegister(block.data(), 0, 0), Status::invalid_value);
  EXPECT_EQ(driver.cuMemHostRegister(rig.pinned(4096), 4096, 0), Status::host_memory_already_registered);
}

TEST(Memory, HostPagesRememberTheirNode) {
  Rig rig("pcie-2socket-4gpu");
  const auto nodes = rig.machine().numa_nodes();
  ASSERT_GE(nodes.size(), 2u);
  const auto device = rig.memory(0, 64_MiB);
  const auto seconds_from = [&](int node) {
    void* pages = rig.driver().host_pages(64_MiB, node);
    EXPECT_EQ(rig.driver().cuMemHostRegister(pages, 64_MiB, 0), Status::success);
    const cu::Stream stream = rig.stream(0);
    const cu::Event start = rig.mark(0, stream);
    EXPECT_EQ(rig.driver().cuMemcpyHtoDAsync(device, pages, 64_MiB, stream), Status::success);
    const double taken = rig.elapsed_s(start, rig.mark(0, stream));
    EXPECT_EQ(rig.driver().cuMemHostUnregister(pages), Status::success);
    rig.driver().free_host_pages(pages, 64_MiB);
    return taken;
  };
  const double near = seconds_from(nodes.front());
  const double far = seconds_from(nodes.back());
  EXPECT_GT(far, near * 1.2) << "the socket link is slower";
}

TEST(Memory, FreeingWaitsForWhatUsesIt) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  const auto from = rig.memory(0, 64_MiB);
  const auto to = rig.memory(1, 64_MiB);
  const cu::Stream stream = rig.stream(0);
  const double before = rig.now_s();
  ASSERT_EQ(rig.driver().cuMemcpyDtoDAsync(to, from, 64_MiB, stream), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(stream), Status::not_ready);
  ASSERT_EQ(rig.driver().cuMemFree(to), Status::success);
  EXPECT_GT(rig.now_s() - before, 64e6 / 400e9);
  EXPECT_EQ(rig.driver().cuStreamQuery(stream), Status::success);
}

TEST(Memory, PinnedMemoryEndsWithTheHosts) {
  Machine machine = preset("laptop-1gpu").value();
  for (Node& node : machine.nodes) {
    if (node.kind == NodeKind::numa) node.memory = 1_MiB;
  }
  Rig rig(machine);
  void* pointer = nullptr;
  EXPECT_EQ(rig.driver().cuMemHostAlloc(&pointer, 2_MiB, 0), Status::out_of_memory);
  EXPECT_EQ(rig.driver().cuMemHostAlloc(&pointer, 1_MiB, 0), Status::success);
  EXPECT_EQ(rig.driver().cuMemHostAlloc(&pointer, 1, 0), Status::out_of_memory);
}

}  // namespace
}  // namespace peerlane::sim

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <rapidcheck/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "lanes/cpu_copy/streaming_copy.hpp"
#include "lanes/lane.hpp"
#include "memory/file.hpp"

namespace peerlane::lanes {
namespace {

using testing::HasSubstr;

/// What the last call of the fake driver was asked for, and what it answers.
struct Call {
  std::string name;
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::size_t bytes = 0;
  cu::Stream stream = nullptr;
};
Call seen;
cu::Status answer = cu::Status::success;

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

vendor::CudaDriver fake_driver(cu::Status status) {
  seen = {};
  answer = status;
  vendor::CudaDriver driver;
  driver.cuGetErrorName = [](cu::Status, const char** name) {
    *name = "CUDA_ERROR_OF_THE_TEST";
    return cu::Status::success;
  };
  driver.cuMemcpyDtoDAsync = [](cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream) {
    seen = {"DtoD", to, from, bytes, stream};
    return answer;
  };
  driver.cuMemcpyHtoDAsync = [](cu::DevicePtr to, const void* from, std::size_t bytes, cu::Stream stream) {
    seen = {"HtoD", to, number(from), bytes, stream};
    return answer;
  };
  driver.cuMemcpyDtoHAsync = [](void* to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream) {
    seen = {"DtoH", number(to), from, bytes, stream};
    return answer;
  };
  return driver;
}

Region region(Place place, std::uint64_t address, Bytes bytes) {
  return {place, address, bytes, nullptr};
}

struct DeviceCase {
  std::string_view lane;
  Place from;
  Place to;
  std::string call;
  std::string where;
};

const DeviceCase device_cases[] = {
    {"copy engine", gpu(0), gpu(1), "DtoD", "gpu:0 → gpu:1"},
    {"copy engine", gpu(2), gpu(2), "DtoD", "gpu:2 → gpu:2"},
    {"pinned DMA", host(1), gpu(0), "HtoD", "host:1 → gpu:0"},
    {"pinned DMA", gpu(0), host(), "DtoH", "gpu:0 → host"},
};

TEST(DeviceLanes, PutOneCopyOnTheStream) {
  auto* stream = reinterpret_cast<cu::Stream>(0x77);
  for (const DeviceCase& one : device_cases) {
    const vendor::CudaDriver driver = fake_driver(cu::Status::success);
    const Step step = {region(one.from, 0x1000, 4096), region(one.to, 0x9000, 4096)};
    ASSERT_TRUE(find_lane(one.lane)->enqueue(driver, step, stream));
    EXPECT_EQ(seen.name, one.call);
    EXPECT_EQ(seen.from, 0x1000u);
    EXPECT_EQ(seen.to, 0x9000u);
    EXPECT_EQ(seen.bytes, 4096u);
    EXPECT_EQ(seen.stream, stream);
  }
}

TEST(DeviceLanes, SayWhichCopyTheDriverRefused) {
  for (const DeviceCase& one : device_cases) {
    const vendor::CudaDriver driver = fake_driver(cu::Status::illegal_address);
    const Step step = {region(one.from, 0x1000, 1), region(one.to, 0x9000, 1)};
    const auto enqueued = find_lane(one.lane)->enqueue(driver, step, nullptr);
    ASSERT_FALSE(enqueued);
    EXPECT_EQ(enqueued.error().kind, ErrorKind::device_lost);
    EXPECT_EQ(enqueued.error().code, 700);
    EXPECT_THAT(enqueued.error().message(), HasSubstr(one.where));
    EXPECT_THAT(enqueued.error().message(), HasSubstr("cuMemcpy" + one.call + "Async"));
  }
}

TEST(AllLanes, RefuseToBeDrivenTheOtherWay) {
  const vendor::CudaDriver driver = fake_driver(cu::Status::success);
  const Step step = {region(mem(), 0, 0), region(host(0), 0, 0)};
  for (const Lane* lane : all_lanes()) {
    const auto outcome =
        lane->drive() == Drive::device_ordered ? lane->run(step) : lane->enqueue(driver, step, nullptr);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::unavailable);
    EXPECT_EQ(outcome.error().where, "mem → host:0");
    EXPECT_THAT(outcome.error().what, HasSubstr(std::string(lane->name())));
  }
}

std::vector<std::byte> counted_bytes(Bytes count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

constexpr Bytes guard = 128;
constexpr std::byte untouched{0xA5};

/// Copies `count` bytes between these offsets and looks at every byte around them too.
void expect_exact_copy(Bytes from_offset, Bytes to_offset, Bytes count,
                       const std::function<void(std::byte* to, const std::byte* from)>& copy) {
  const std::vector<std::byte> source = counted_bytes(from_offset + count);
  std::vector<std::byte> target(to_offset + count + guard, untouched);
  copy(target.data() + to_offset, source.data() + from_offset);
  std::vector<std::byte> expected(target.size(), untouched);
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from_offset), count,
              expected.begin() + static_cast<std::ptrdiff_t>(to_offset));
  ASSERT_TRUE(target == expected) << count << " bytes from offset " << from_offset << " to " << to_offset;
}

TEST(StreamingCopy, WritesExactlyItsBytesAtEverySmallSizeAndAlignment) {
  for (Bytes count = 0; count <= 200; ++count) {
    for (Bytes to = 0; to < 66; to += 3) {
      expect_exact_copy(count % 7, to, count, [&](auto* into, const auto* from) { streaming_copy(into, from, count); });
    }
  }
}

RC_GTEST_PROP(CpuCopy, CarriesEveryByteWhateverTheAlignment, ()) {
  const Bytes count = *rc::gen::inRange<Bytes>(0, 600'000);
  const Bytes from = *rc::gen::inRange<Bytes>(0, 100), to = *rc::gen::inRange<Bytes>(0, 100);
  expect_exact_copy(from, to, count, [&](std::byte* into, const std::byte* out_of) {
    const Step step = {region(mem(), number(out_of), count), region(host(0), number(into), count)};
    RC_ASSERT(find_lane("CPU copy")->run(step).has_value());
  });
}

TEST(CpuCopy, NoBytesNeedNoMemory) {
  EXPECT_TRUE(find_lane("CPU copy")->run({region(mem(), 0, 0), region(mem(), 0, 0)}));
}

class FileLane : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "peerlane-lanes-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ / name; }
  const Lane& lane_ = *find_lane("file");

 private:
  std::filesystem::path directory_;
};

Region in_file(File& opened, Bytes offset, Bytes bytes) {
  return {file(), offset, bytes, &opened};
}
Region in_memory(std::vector<std::byte>& bytes) {
  return {mem(), number(bytes.data()), bytes.size(), nullptr};
}

TEST_F(FileLane, WritesAndReadsAtTheOffsetOfTheRegion) {
  std::vector<std::byte> bytes = counted_bytes(300'001);
  std::vector<std::byte> head(bytes.begin(), bytes.begin() + 1000), tail(bytes.begin() + 1000, bytes.end());
  auto target = File::open_target(path("out"), bytes.size()).value();
  ASSERT_TRUE(lane_.run({in_memory(tail), in_file(*target, 1000, tail.size())}));
  ASSERT_TRUE(lane_.run({in_memory(head), in_file(*target, 0, head.size())}));
  ASSERT_TRUE(target->commit());

  auto source = File::open_source(path("out")).value();
  std::vector<std::byte> back(bytes.size() - 5);
  ASSERT_TRUE(lane_.run({in_file(*source, 5, back.size()), in_memory(back)}));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + 5));
}

TEST_F(FileLane, ReadingPastTheEndNamesTheFile) {
  std::ofstream(path("short")) << "four";
  auto source = File::open_source(path("short")).value();
  std::vector<std::byte> room(5);
  const auto read = lane_.run({in_file(*source, 0, 5), in_memory(room)});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr(path("short")));
}

TEST_F(FileLane, AnEndWithoutAFileIsAnError) {
  std::vector<std::byte> room(8);
  const Region nowhere = {file(), 0, 8, nullptr};
  for (const Step& step : {Step{nowhere, in_memory(room)}, Step{in_memory(room), nowhere}}) {
    const auto outcome = lane_.run(step);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::invalid_argument);
  }
}

}  // namespace
}  // namespace peerlane::lanes

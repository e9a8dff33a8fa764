#include "kernels/kernels.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "base/digest.hpp"
#include "unit/memory/world.hpp"

namespace peerlane::kernels {
namespace {

using test::must;
using test::World;
using testing::HasSubstr;
using vendor::ContextScope;

TEST(Kernels, FillAndDigestMemoryOfTheGpuAsTheHostDoes) {
  World world("dgx-h100");
  const auto& driver = world.driver();
  Kernels kernels(world.contexts);
  const cu::Stream stream = world.stream(1);
  ContextScope scope(driver, must(world.contexts->context(1)));
  const Buffer word = must(world.memory->allocate(gpu(1), 8));
  for (const Bytes bytes : {1, 8, 4097, 100'003}) {
    for (const Bytes skew : {0, 1, 8}) {
      const Buffer buffer = must(world.memory->allocate(gpu(1), bytes + skew));
      const Region piece = buffer.region().slice(skew, bytes);
      std::vector<unsigned char> expected(bytes);
      digest::fill(expected.data(), bytes, 16, 7);
      std::uint64_t sum = 5;
      ASSERT_EQ(driver.cuMemcpyHtoDAsync(word.region().address, &sum, sizeof sum, stream), cu::Status::success);
      must(kernels.fill(1, piece, 16, 7, stream));
      must(kernels.digest(1, piece, 16, word.region().address, stream));
      ASSERT_EQ(driver.cuMemcpyDtoHAsync(&sum, word.region().address, sizeof sum, stream), cu::Status::success);
      ASSERT_EQ(driver.cuStreamSynchronize(stream), cu::Status::success);
      EXPECT_EQ(sum, 5 + digest::sum(expected.data(), bytes, 16)) << bytes << " at +" << skew;

      std::vector<unsigned char> got(bytes);
      ASSERT_EQ(driver.cuMemcpyDtoHAsync(got.data(), piece.address, bytes, stream), cu::Status::success);
      ASSERT_EQ(driver.cuStreamSynchronize(stream), cu::Status::success);
      EXPECT_EQ(got, expected) << bytes << " at +" << skew;
    }
  }
}

TEST(Kernels, AreLoadedOnceAGpuAndOnlyWhereNeeded) {
  World world("dgx-h100");
  {
    Kernels kernels(world.contexts);
    EXPECT_EQ(world.calls("cuModuleLoadData"), 0u);
    for (int round = 0; round < 3; ++round) must(kernels.available(2));
    EXPECT_EQ(world.calls("cuModuleLoadData"), 1u);
    EXPECT_FALSE(world.contexts->retained(0));
  }
  EXPECT_EQ(world.calls("cuModuleUnload"), 1u);
}

TEST(Kernels, LaunchNothingForNoBytes) {
  World world("dgx-h100");
  Kernels kernels(world.contexts);
  const cu::Stream stream = world.stream(0);
  must(kernels.digest(0, Region{gpu(0)}, 0, 0, stream));
  must(kernels.fill(0, Region{gpu(0)}, 0, 1, stream));
  EXPECT_EQ(world.calls("cuLaunchKernel"), 0u);
}

TEST(Kernels, BeginAtAMultipleOfEight) {
  World world("dgx-h100");
  Kernels kernels(world.contexts);
  const cu::Stream stream = world.stream(0);
  EXPECT_EQ(kernels.digest(0, Region{gpu(0)}, 4, 0, stream).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(kernels.fill(0, Region{gpu(0)}, 4, 0, stream).error().kind, ErrorKind::invalid_argument);
}

TEST(Kernels, OfABuildWithoutThemAreRefusedOnARealDriver) {
  World world("dgx-h100");
  vendor::CudaDriver real = world.driver();
  real.simulated = false;
  Kernels kernels(std::make_shared<memory::Contexts>(real, 8), {});
  const auto refused = kernels.available(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("without nvcc"));
}

TEST(Kernels, WithoutCodeForTheGpuAreRefusedWithTheReason) {
  World world("dgx-h100");
  vendor::CudaDriver old = world.driver();
  old.cuModuleLoadData = [](cu::Module*, const void*) { return cu::Status::no_binary_for_gpu; };
  Kernels kernels(std::make_shared<memory::Contexts>(old, 8));
  const auto refused = kernels.available(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("7.5"));
}

TEST(Kernels, OfAGpuThatDoesNotExistOrIsLostAreRefused) {
  World world("dgx-h100");
  Kernels kernels(world.contexts);
  EXPECT_EQ(kernels.available(8).error().kind, ErrorKind::not_found);
  must(kernels.available(3));
  world.contexts->abandon(4);
  EXPECT_EQ(kernels.available(4).error().kind, ErrorKind::device_lost);
}

TEST(Kernels, LeakNothingWhicheverCallOfTheirsFails) {
  for (const std::string call : {"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuModuleLoadData",
                                 "cuModuleGetFunction", "cuCtxGetDevice", "cuDeviceGetAttribute"}) {
    for (int n = 1; n <= 2; ++n) {
      World world("dgx-h100");
      must(world.simulation->add_fault("fail:" + call + ":" + std::to_string(n)));
      Kernels kernels(world.contexts);
      const auto available = kernels.available(0);
      EXPECT_TRUE(n > 1 || !available) << call;
      EXPECT_TRUE(available || !available.error().what.empty()) << call;
      EXPECT_TRUE(kernels.available(0)) << call << " works the next time";
      // The second entry is the destructor's: a context that refuses entry keeps its module.
      if (call == "cuCtxPushCurrent" && n == 2) world.leaves_something();
    }
  }
}

TEST(Image, IsAFatbinWhereTheBuildHasNvcc) {
  if (image().empty()) GTEST_SKIP() << "built without CUDA";
  ASSERT_GT(image().size(), 4u);
  EXPECT_EQ(image()[0], 0x50);  // the fatbin's magic number, 0xBA55ED50
  EXPECT_EQ(image()[1], 0xed);
  EXPECT_EQ(image()[2], 0x55);
  EXPECT_EQ(image()[3], 0xba);
}

}  // namespace
}  // namespace peerlane::kernels

#include "discover/discover.hpp"

#include <gmock/gmock.h>

#include <iostream>

#include "discover/probes.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::discover {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ThisMachine, WithoutADriverIsItsHostAndTheReason) {
  const Machine machine = this_machine(nullptr, "no libcuda.so.1");
  std::cout << to_json(machine);
  EXPECT_TRUE(machine.live);
  EXPECT_EQ(machine.name, "this machine");
  EXPECT_EQ(machine.gpu_count(), 0);
  EXPECT_THAT(machine.numa_nodes(), Not(IsEmpty()));
  EXPECT_GT(machine.nodes[*machine.find(NodeKind::numa, machine.numa_nodes().front())].memory, 0u);
  EXPECT_GE(machine.host.workers, 1);
  EXPECT_LE(machine.host.workers, 12);
  EXPECT_THAT(machine.notes, Contains("CUDA is not available here: no libcuda.so.1"));
}

TEST(ThisMachine, WithItsDriverHasAPairForEveryTwoGpus) {
  const auto driver = vendor::load_cuda();
  if (!driver) GTEST_SKIP() << driver.error().message();
  const Machine machine = this_machine(*driver, "", {.helper = PEERLANE_PROBE});
  std::cout << to_json(machine);
  const auto gpus = static_cast<std::size_t>(machine.gpu_count());
  EXPECT_GT(gpus, 0u);
  EXPECT_EQ(machine.pairs.size(), gpus * (gpus - 1));
}

TEST(ThisMachine, ADriverThatCountsNoGpuStartsNoHelper) {
  vendor::CudaDriver driver;
  driver.version = 13000;
  driver.cuDeviceGetCount = [](int* count) { return *count = 0, cu::Status::success; };
  const Machine machine = this_machine(&driver, "", {.helper = "/nowhere/peerlane-probe"});
  EXPECT_EQ(machine.gpu_count(), 0);
  EXPECT_EQ(machine.cuda_version, 13000);
  EXPECT_THAT(machine.notes, Not(Contains(HasSubstr("peerlane-probe"))));
}

}  // namespace
}  // namespace peerlane::discover

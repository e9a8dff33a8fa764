/// Virtual time: rates, fair shares, determinism.

#include "rig.hpp"

namespace peerlane::sim {
namespace {

TEST(Time, OneGibibyteBetweenPeersOfADgxH100TakesWhatNvlinkGives) {
  Rig rig("dgx-h100");
  ASSERT_EQ(rig.allow(0, 7), Status::success);
  const double rate = static_cast<double>(1_GiB) / rig.copy_s(0, 7, 1_GiB, 0);
  EXPECT_GE(rate, 360e9);
  EXPECT_LE(rate, 400e9);
}

}  // namespace
}  // namespace peerlane::sim

#include <gmock/gmock.h>

#include <map>

#include "vendor/cuda.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::vendor {
namespace {

using testing::HasSubstr;

CudaDriver naming_driver() {
  CudaDriver driver;
  driver.cuGetErrorName = [](cu::Status status, const char** name) {
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return status == cu::Status::out_of_memory ? cu::Status::success : cu::Status::invalid_value;
  };
  return driver;
}

TEST(StatusName, IsTheDriversWordAndTheNumber) {
  EXPECT_EQ(status_name(naming_driver(), cu::Status::out_of_memory), "CUDA_ERROR_OUT_OF_MEMORY (2)");
}

TEST(StatusName, IsTheNumberWhereTheDriverHasNoWord) {
  EXPECT_EQ(status_name(naming_driver(), cu::Status{12345}), "CUDA error 12345");
  EXPECT_EQ(status_name(CudaDriver{}, cu::Status::unknown), "CUDA error 999");
}

TEST(DriverError, SaysTheCallTheStatusAndThePlace) {
  const Error error = driver_error(naming_driver(), cu::Status::out_of_memory, "cuMemAlloc", "gpu:3");
  EXPECT_EQ(error.what, "cuMemAlloc answers CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(error.where, "gpu:3");
  EXPECT_EQ(error.code, 2);
}

/// Every number a driver could answer, so that nothing falls into a wrong kind.
TEST(DriverError, KindSaysWhatTheCallerCanDo) {
  std::map<int, ErrorKind> special = {{2, ErrorKind::no_memory}};
  for (int lost : {46, 214, 220, 700, 702, 709, 714, 719, 999}) special[lost] = ErrorKind::device_lost;
  for (int absent : {100, 217, 801, 802, 803}) special[absent] = ErrorKind::unavailable;
  for (int status = 1; status < 1100; ++status) {
    const auto known = special.find(status);
    const ErrorKind expected = known == special.end() ? ErrorKind::driver : known->second;
    EXPECT_EQ(driver_error(CudaDriver{}, cu::Status{status}, "call", "").kind, expected) << status;
  }
}

TEST(Check, IsQuietOnSuccess) {
  EXPECT_TRUE(check(CudaDriver{}, cu::Status::success, "cuInit", ""));
  EXPECT_FALSE(check(CudaDriver{}, cu::Status::invalid_value, "cuInit", ""));
}

TEST(NvmlStatusName, IsNvmlsWordAndTheNumber) {
  EXPECT_EQ(status_name(nvml::Status::not_supported), "NVML_ERROR_NOT_SUPPORTED (3)");
  EXPECT_EQ(status_name(nvml::Status{4711}), "NVML error 4711");
}

}  // namespace
}  // namespace peerlane::vendor

#include <gmock/gmock.h>

#include <cstring>

#include "discover/probes.hpp"

namespace peerlane::discover {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// What the fake driver's next failing call answers, and which calls fail. Functions of the table carry no state.
cu::Status count_status, name_status, attribute_status, pair_status, open_status;

vendor::CudaDriver fake() {
  count_status = name_status = attribute_status = pair_status = open_status = cu::Status::success;
  vendor::CudaDriver driver;
  driver.version = 12040;
  driver.cuDeviceGetCount = [](int* count) { return *count = 2, count_status; };
  driver.cuDeviceGet = [](cu::Device* device, int ordinal) {
    *device = 70 + ordinal;
    return ordinal == 1 ? open_status : cu::Status::success;
  };
  driver.cuDeviceGetName = [](char* name, int length, cu::Device) {
    std::strncpy(name, "NVIDIA Fake", length);
    return name_status;
  };
  driver.cuDeviceGetPCIBusId = [](char* id, int length, cu::Device device) {
    std::strncpy(id, device == 70 ? "0000:1B:00.0" : "0000:1C:00.0", length);
    return cu::Status::success;
  };
  driver.cuDeviceGetUuid = [](cu::Uuid* uuid, cu::Device) {
    for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(0x10 * i + i);
    return cu::Status::success;
  };
  driver.cuDeviceTotalMem = [](std::size_t* bytes, cu::Device) { return *bytes = 1_GiB, cu::Status::success; };
  driver.cuDeviceGetAttribute = [](int* value, cu::DeviceAttribute which, cu::Device) {
    *value = static_cast<int>(which);
    return attribute_status;
  };
  driver.cuDeviceCanAccessPeer = [](int* can, cu::Device from, cu::Device) { return *can = from == 70, pair_status; };
  driver.cuDeviceGetP2PAttribute = [](int* value, cu::P2PAttribute, cu::Device, cu::Device) {
    return *value = 0, pair_status;
  };
  return driver;
}

TEST(DriverFacts, AreWhatTheDriverSays) {
  const DriverFacts facts = driver_facts(fake());
  EXPECT_EQ(facts.cuda_version, 12040);
  EXPECT_THAT(facts.notes, IsEmpty());
  ASSERT_EQ(facts.gpus.size(), 2u);
  EXPECT_EQ(facts.gpus[0].name, "NVIDIA Fake");
  EXPECT_EQ(facts.gpus[1].pci, "0000:1c:00.0");
  EXPECT_EQ(facts.gpus[0].uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(facts.gpus[0].memory, 1_GiB);
  EXPECT_EQ(facts.gpus[0].compute_major, cu::attribute_compute_major);
  EXPECT_EQ(facts.gpus[0].copy_engines, cu::attribute_async_engine_count);
  EXPECT_EQ(facts.gpus[0].memory_clock_hz, 1e3 * static_cast<int>(cu::attribute_memory_clock_khz));
  ASSERT_EQ(facts.pairs.size(), 2u);
  EXPECT_EQ(facts.pairs[0].access, Claim::yes);
  EXPECT_EQ(facts.pairs[1].access, Claim::no);
  EXPECT_EQ(facts.pairs[0].atomics, Claim::no);
}

TEST(DriverFacts, NoGpuIsCountedWhenTheCountFails) {
  const auto driver = fake();
  count_status = cu::Status::not_initialized;
  const DriverFacts facts = driver_facts(driver);
  EXPECT_THAT(facts.gpus, IsEmpty());
  EXPECT_THAT(facts.notes, Contains(HasSubstr("cuDeviceGetCount")));
}

TEST(DriverFacts, AGpuThatCannotBeOpenedIsANoteAndTheOtherStays) {
  const auto driver = fake();
  open_status = cu::Status::device_unavailable;
  const DriverFacts facts = driver_facts(driver);
  ASSERT_EQ(facts.gpus.size(), 1u);
  EXPECT_EQ(facts.gpus[0].ordinal, 0);
  EXPECT_THAT(facts.pairs, IsEmpty());
  EXPECT_THAT(facts.notes, Contains(HasSubstr("gpu:1")));
}

TEST(DriverFacts, WhatOneCallCannotTellIsUnknownAndNoted) {
  const auto driver = fake();
  name_status = attribute_status = pair_status = cu::Status::invalid_value;
  const DriverFacts facts = driver_facts(driver);
  ASSERT_EQ(facts.gpus.size(), 2u);
  EXPECT_EQ(facts.gpus[0].name, "");
  EXPECT_EQ(facts.gpus[0].compute_major, 0);
  EXPECT_EQ(facts.gpus[0].pci, "0000:1b:00.0");
  EXPECT_EQ(facts.pairs[0].access, Claim::unknown);
  EXPECT_THAT(facts.notes, Contains(HasSubstr("cuDeviceCanAccessPeer")));
}

}  // namespace
}  // namespace peerlane::discover

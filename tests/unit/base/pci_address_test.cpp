#include "base/pci_address.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace peerlane {
namespace {

TEST(PciAddress, HasOneFormHoweverItIsWritten) {
  for (const char* text : {"0000:1b:00.0", "0000:1B:00.0", "00000000:1B:00.0", "0000:1b:00", "1b:00.0", "1B:00"}) {
    EXPECT_EQ(pci_address(text), "0000:1b:00.0") << text;
  }
  EXPECT_EQ(pci_address("0009:01:00.0"), "0009:01:00.0");
  EXPECT_EQ(pci_address("00010000:81:1F.7"), "10000:81:1f.7");
}

TEST(PciAddress, EveryOneIsItsOwnForm) {
  for (int bus = 0; bus < 256; ++bus) {
    for (int device = 0; device < 32; ++device) {
      char text[32];
      std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", bus * 255, bus, device, device % 8);
      EXPECT_EQ(pci_address(text), text);
    }
  }
}

TEST(PciAddress, AnythingElseIsEmpty) {
  for (const char* text : {"", ":", ".", "1b", "1b:00.", "1b:00.8", "1b:20.0", "100:00.0", "xx:00.0", "0000:1b:00.0 ",
                           "-1:00.0", "0:0:0:0", "123456789:1b:00.0", "GPU-1", "0000:1b:00.0.0"}) {
    EXPECT_EQ(pci_address(text), "") << text;
  }
}

}  // namespace
}  // namespace peerlane

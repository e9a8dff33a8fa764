#include "vendor/host_pages.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>

namespace peerlane::vendor {
namespace {

TEST(HostPages, AreAlignedZeroedAndWritableOnAnyNodeAndOnTheFirst) {
  for (int node : {-1, 0}) {
    for (Bytes bytes : {Bytes{1}, Bytes{4095}, Bytes{4096}, 3 * 1_MiB + 17}) {
      auto* pages = static_cast<unsigned char*>(host_pages(bytes, node));
      ASSERT_NE(pages, nullptr) << bytes << " on node " << node;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages) % sysconf(_SC_PAGESIZE), 0u);
      EXPECT_EQ(pages[0] | pages[bytes - 1], 0);
      std::memset(pages, 0xA5, bytes);
      EXPECT_EQ(pages[bytes - 1], 0xA5);
      free_host_pages(pages, bytes);
    }
  }
}

TEST(HostPages, AreNullOnANodeThatDoesNotExist) {
  for (int node : {-2, 63, 1023, 1024, 100'000, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(host_pages(4096, node), nullptr) << node;
  }
}

TEST(HostPages, AreNullForASizeThatNoMachineHas) {
  EXPECT_EQ(host_pages(0, -1), nullptr);
  EXPECT_EQ(host_pages(Bytes{1} << 60, -1), nullptr);
  EXPECT_EQ(host_pages(Bytes{1} << 46, 0), nullptr);
  EXPECT_EQ(host_pages(std::numeric_limits<Bytes>::max(), -1), nullptr);
}

TEST(HostPages, NullMayBeFreed) {
  free_host_pages(nullptr, 4096);
}

}  // namespace
}  // namespace peerlane::vendor

#include "discover/sysfs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace peerlane::discover {
namespace {

namespace fs = std::filesystem;

class Sysfs : public testing::Test {
 protected:
  Sysfs() : root_(fs::temp_directory_path() / ("peerlane-sysfs-" + std::to_string(getpid()))) {}
  ~Sysfs() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST(PcieGeneration, IsReadFromTheKernelsSpeed) {
  EXPECT_EQ(pcie_generation("2.5 GT/s PCIe"), 1);
  EXPECT_EQ(pcie_generation("5.0 GT/s PCIe"), 2);
  EXPECT_EQ(pcie_generation("8 GT/s"), 3);
  EXPECT_EQ(pcie_generation("16.0 GT/s PCIe"), 4);
  EXPECT_EQ(pcie_generation("32.0 GT/s PCIe"), 5);
  EXPECT_EQ(pcie_generation("64.0 GT/s PCIe"), 6);
  for (const char* unknown : {"", "Unknown", "Unknown speed", "7 GT/s", "-8", "nan", "1e400"}) {
    EXPECT_EQ(pcie_generation(unknown), 0) << unknown;
  }
}

TEST_F(Sysfs, TellsWhatALinkCanDoAndWhatItDoes) {
  const std::string folder = "bus/pci/devices/0000:1b:00.0/";
  write(folder + "max_link_speed", "32.0 GT/s PCIe\n");
  write(folder + "max_link_width", "16\n");
  write(folder + "current_link_speed", "2.5 GT/s PCIe\n");
  write(folder + "current_link_width", "8\n");
  const PcieFacts facts = pcie_facts(root(), "0000:1b:00.0");
  EXPECT_EQ(facts.generation, 5);
  EXPECT_EQ(facts.width, 16);
  EXPECT_EQ(facts.generation_now, 1);
  EXPECT_EQ(facts.width_now, 8);
}

TEST_F(Sysfs, WidthsThatNoLinkHasAreUnknown) {
  for (const char* width : {"0", "255", "-4", "Unknown", ""}) {
    write("bus/pci/devices/0000:1b:00.0/max_link_width", width);
    EXPECT_EQ(pcie_facts(root(), "0000:1b:00.0").width, 0) << width;
  }
  EXPECT_EQ(pcie_facts(root(), "0000:ff:00.0").generation, 0);
}

TEST_F(Sysfs, TheKernelModuleSaysItsVersion) {
  EXPECT_EQ(kernel_module_version(root()), "");
  write("driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC version: "
        "12.2.0\n");
  EXPECT_EQ(kernel_module_version(root()), "535.129.03");
  write("driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root@host)  now\n");
  EXPECT_EQ(kernel_module_version(root()), "580.159.04");
}

}  // namespace
}  // namespace peerlane::discover

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "discover/join.hpp"
#include "discover/probes.hpp"

namespace peerlane::discover {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// A topology of hwloc, written by hand: an object is its attributes and what stands in it.
std::string object(const std::string& type, const std::string& attributes, const std::string& inside = "") {
  static int serial = 0;
  return "<object type=\"" + type + "\" gp_index=\"" + std::to_string(++serial) + "\" " + attributes + ">" + inside +
         "</object>\n";
}

std::string sets(const std::string& cpus, const std::string& nodes) {
  std::string text;
  for (const char* prefix : {"", "complete_"}) {
    text += std::string(prefix) + "cpuset=\"" + cpus + "\" " + prefix + "nodeset=\"" + nodes + "\" ";
  }
  return text;
}

std::string host_bridge(const std::string& buses, const std::string& inside) {
  return object("Bridge", "bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"" + buses + "\"", inside);
}

std::string pci_bridge(int depth, const std::string& address, const std::string& buses, const std::string& inside) {
  return object("Bridge",
                "bridge_type=\"1-1\" depth=\"" + std::to_string(depth) + "\" bridge_pci=\"" + buses +
                    "\" pci_busid=\"" + address +
                    "\" pci_type=\"0604 [8086:0001] [0000:0000] 00\" pci_link_speed=\"0.000000\"",
                inside);
}

std::string device(const std::string& address, const std::string& type, const std::string& inside = "") {
  return object("PCIDev",
                "pci_busid=\"" + address + "\" pci_type=\"" + type + " [0000:0000] 00\" pci_link_speed=\"0.000000\"",
                inside);
}

constexpr const char* block = "0";
constexpr const char* network = "2";
constexpr const char* openfabrics = "3";
std::string os_device(const std::string& name, const char* type) {
  return object("OSDev", "name=\"" + name + "\" osdev_type=\"" + type + "\"");
}

std::string package(int socket, const std::string& extra_node, const std::string& io) {
  const std::string set = socket == 0 ? "0x00000001" : "0x00000002";
  const std::string os_index = "os_index=\"" + std::to_string(socket) + "\" ";
  return object("Package", os_index + sets(set, set),
                object("NUMANode", os_index + sets(set, set) + "local_memory=\"68719476736\"") + extra_node +
                    object("PU", os_index + sets(set, set)) + io);
}

std::string topology(const std::string& packages, const std::string& nodes) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\">\n" +
         object("Machine",
                "os_index=\"0\" " + sets("0x00000003", nodes) + "allowed_cpuset=\"0x00000003\" allowed_nodeset=\"" +
                    nodes + "\"",
                packages) +
         "</topology>\n";
}

/// Two sockets: a switch with two GPUs and a NIC below the first, a drive and a device nobody asks for below the
/// second.
std::string two_sockets() {
  const std::string gpu = "0302 [10de:2335]";
  const std::string below_the_switch =
      pci_bridge(3, "0000:02:00.0", "0000:[03-03]", device("0000:03:00.0", gpu)) +
      pci_bridge(3, "0000:02:01.0", "0000:[04-04]", device("0000:04:00.0", gpu)) +
      pci_bridge(
          3, "0000:02:02.0", "0000:[05-05]",
          device("0000:05:00.0", "0207 [15b3:1021]", os_device("ibp5s0", network) + os_device("mlx5_0", openfabrics)));
  const std::string first = host_bridge(
      "0000:[00-05]",
      pci_bridge(1, "0000:00:01.0", "0000:[01-05]", pci_bridge(2, "0000:01:00.0", "0000:[02-05]", below_the_switch)));
  const std::string second =
      host_bridge("0000:[80-81]", pci_bridge(1, "0000:80:01.0", "0000:[81-81]",
                                             device("0000:81:00.0", "0108 [144d:a808]", os_device("nvme0n1", block))) +
                                      device("0000:80:1f.0", "0300 [1a03:2000]"));
  return topology(package(0, "", first) + package(1, "", second), "0x00000003");
}

class HostTree : public testing::Test {
 protected:
  HostTree() : root_(std::filesystem::temp_directory_path() / ("peerlane-host-" + std::to_string(getpid()))) {}
  ~HostTree() override { std::filesystem::remove_all(root_); }

  void SetUp() override {
    for (const std::string& note : host_facts().notes) {
      if (note.find("no hwloc") != std::string::npos) GTEST_SKIP() << note;
    }
  }

  void max_link(const std::string& address, const std::string& speed, int width) {
    const auto folder = root_ / "bus/pci/devices" / address;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "max_link_speed") << speed << " GT/s PCIe\n";
    std::ofstream(folder / "max_link_width") << width << "\n";
  }

  HostFacts read(const std::string& xml) {
    return host_facts({.hwloc_xml = xml, .sysfs = root_.string(), .procfs = root_.string()});
  }

 private:
  std::filesystem::path root_;
};

const PciFacts* find(const HostFacts& facts, const std::string& address) {
  for (const PciFacts& device : facts.pci) {
    if (device.pci == address) return &device;
  }
  return nullptr;
}

TEST_F(HostTree, HasEverySocketNodeAndDeviceWhereItIs) {
  max_link("0000:05:00.0", "32.0", 16);
  const HostFacts facts = read(two_sockets());
  EXPECT_THAT(facts.notes, IsEmpty());
  EXPECT_EQ(facts.sockets, 2);
  ASSERT_EQ(facts.numa.size(), 2u);
  EXPECT_EQ(facts.numa[1].node, 1);
  EXPECT_EQ(facts.numa[1].socket, 1);
  EXPECT_EQ(facts.numa[1].memory, 64_GiB);

  const PciFacts* nic = find(facts, "0000:05:00.0");
  ASSERT_NE(nic, nullptr);
  EXPECT_EQ(nic->kind, PciKind::nic);
  EXPECT_EQ(nic->name, "mlx5_0");
  EXPECT_EQ(nic->pcie.generation, 5);
  EXPECT_EQ(nic->numa, 0);
  EXPECT_EQ(facts.pci[nic->above].pci, "0000:02:02.0");

  const PciFacts* drive = find(facts, "0000:81:00.0");
  ASSERT_NE(drive, nullptr);
  EXPECT_EQ(drive->kind, PciKind::drive);
  EXPECT_EQ(drive->name, "nvme0n1");
  EXPECT_EQ(drive->socket, 1);
  EXPECT_EQ(drive->numa, 1);

  EXPECT_EQ(find(facts, "0000:04:00.0")->kind, PciKind::gpu);
  EXPECT_EQ(find(facts, "0000:80:1f.0"), nullptr);  // a graphics chip of another maker
  for (std::size_t i = 0; i < facts.pci.size(); ++i) EXPECT_LT(facts.pci[i].above, static_cast<int>(i));
}

TEST_F(HostTree, JoinsIntoOneSwitchWithBothGpus) {
  Facts facts;
  facts.host = read(two_sockets());
  for (int i = 0; i < 2; ++i) {
    GpuFacts gpu;
    gpu.ordinal = i;
    gpu.pci = i == 0 ? "0000:03:00.0" : "0000:04:00.0";
    facts.driver.gpus.push_back(gpu);
  }
  const Machine machine = join_facts(facts);
  EXPECT_EQ(machine.pair(0, 1)->letters, "PIX");
  EXPECT_EQ(machine.gpu(0)->numa, 0);
  EXPECT_EQ(machine.nodes[*machine.find(NodeKind::pcie_switch, 0)].pci, "0000:01:00.0");
  EXPECT_EQ(machine.nodes[*machine.find(NodeKind::root_port, 0)].pci, "0000:00:01.0");
  EXPECT_FALSE(machine.find(NodeKind::pcie_switch, 1));
}

TEST_F(HostTree, MemoryOfAGpuIsNoNodeOfTheHost) {
  const std::string node = object("NUMANode", "os_index=\"2\" subtype=\"GPUMemory\" " +
                                                  sets("0x00000001", "0x00000004") + "local_memory=\"103079215104\"");
  const HostFacts facts = read(topology(package(0, node, "") + package(1, "", ""), "0x00000007"));
  ASSERT_EQ(facts.numa.size(), 2u);
  EXPECT_EQ(facts.numa[0].node, 0);
  EXPECT_EQ(facts.numa[1].node, 1);
}

TEST_F(HostTree, ThatCannotBeReadIsOneNodeAndANote) {
  for (const char* broken : {"<", "not xml", "<topology/>"}) {
    const HostFacts facts = read(broken);
    EXPECT_THAT(facts.notes, Contains(HasSubstr("hwloc cannot read"))) << broken;
    ASSERT_EQ(facts.numa.size(), 1u);
    EXPECT_GT(facts.numa[0].memory, 0u);
    EXPECT_THAT(facts.pci, IsEmpty());
  }
}

}  // namespace
}  // namespace peerlane::discover

#include "discover/join.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "facts_maker.hpp"
#include "machine/paths.hpp"

namespace peerlane::discover {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace made;

const Link* link_between(const Machine& machine, const std::string& a, const std::string& b) {
  for (const Link& link : machine.links) {
    const std::string from = machine.nodes[link.a].id(), to = machine.nodes[link.b].id();
    if ((from == a && to == b) || (from == b && to == a)) return &link;
  }
  return nullptr;
}

int count(const Machine& machine, NodeKind kind) {
  int found = 0;
  for (const Node& node : machine.nodes) found += node.kind == kind;
  return found;
}

/// What every joined machine must be, whatever the facts: planned on and written to a file.
void expect_sound(const Machine& machine) {
  EXPECT_TRUE(machine.live);
  for (const Link& link : machine.links) {
    EXPECT_GT(link.bytes_per_s, 0);
    EXPECT_GT(link.latency_s, 0);
    EXPECT_NE(link.a, link.b);
  }
  for (const Node& gpu : machine.nodes) {
    if (gpu.kind != NodeKind::gpu) continue;
    EXPECT_GT(gpu.memory_bytes_per_s, 0);
    for (const int numa : machine.numa_nodes()) {
      EXPECT_TRUE(machine::host_path(machine, gpu.index, numa, true)) << gpu.id() << " host:" << numa;
    }
  }
  for (const Pair& pair : machine.pairs) {
    EXPECT_TRUE(machine::pcie_path(machine, pair.from, pair.to)) << pair.from << " " << pair.to;
    EXPECT_EQ(pair.why_not.empty(), pair.access != Claim::no);
  }
  const int gpus = machine.gpu_count();
  EXPECT_EQ(machine.pairs.size(), static_cast<std::size_t>(gpus * (gpus - 1)));
  const auto again = machine_from_json(to_json(machine), "written by this test");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->links.size(), machine.links.size());
  EXPECT_EQ(again->notes, machine.notes);
}

TEST(Join, TwoH200OfAVirtualMachineMeetInASwitchAndHangAtRootPorts) {
  const Machine machine = join_facts(two_h200());
  expect_sound(machine);
  EXPECT_EQ(machine.name, "this machine");
  EXPECT_EQ(machine.driver, "580.159.04");
  EXPECT_EQ(machine.cuda_version, 13000);
  EXPECT_EQ(machine.gpu_count(), 2);
  EXPECT_EQ(count(machine, NodeKind::nvswitch), 1);
  EXPECT_EQ(count(machine, NodeKind::root_port), 2);
  for (const Pair& pair : machine.pairs) {
    EXPECT_EQ(pair.letters, "NV18");
    EXPECT_EQ(pair.nvlinks, 18);
    EXPECT_EQ(pair.access, Claim::yes);
    EXPECT_EQ(pair.atomics, Claim::yes);
  }
  // Measured there: 396.3 GB/s between the GPUs, 55.4 to the host.
  EXPECT_NEAR(machine::nvlink_path(machine, 0, 1)->bytes_per_s, 396.3e9, 4e9);
  EXPECT_NEAR(machine::host_path(machine, 0, 0, true)->bytes_per_s, 55.4e9, 1e9);
  EXPECT_NEAR(machine.gpu(0)->memory_bytes_per_s, 4.0e12, 0.1e12);
  EXPECT_EQ(machine.gpu(0)->numa, 0);
  EXPECT_THAT(machine.notes, Contains(HasSubstr("the PCI tree does not show gpu:0 and gpu:1")));
  EXPECT_THAT(machine.notes, Contains(HasSubstr("gpu:0 and gpu:1 have no peer road over PCIe")));
}

TEST(Join, AnUnnamedFarEndIsASwitchOnlyWhereNvmlSaysThatThePeerIsReached) {
  Facts facts = two_h200();
  for (NvmlGpuFacts& gpu : facts.nvml.gpus) {
    for (NvlinkFacts& link : gpu.links) link = {true, 4, 0, FarEnd::unknown, ""};
  }
  Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(machine.pair(0, 1)->letters, "NV18");
  EXPECT_THAT(machine.notes, Contains(HasSubstr("does not say where the NVLinks of gpu:0 and gpu:1 lead")));

  for (NvmlPairFacts& pair : facts.nvml.pairs) pair.nvlink = nvml::p2p_not_supported;
  machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(count(machine, NodeKind::nvswitch), 0);
  EXPECT_EQ(machine.pair(0, 1)->letters, "NODE");
}

TEST(Join, EightGpusOfASwitchBoxReachEachOtherAndAWeakOneOnlyByItsLinks) {
  std::vector<GpuFacts> gpus;
  for (int i = 0; i < 8; ++i) gpus.push_back(h200(i));
  Facts facts = machine(gpus, Claim::yes, Claim::yes);
  for (NvmlGpuFacts& gpu : facts.nvml.gpus) gpu.links.assign(18, link_to_switch());
  facts.nvml.gpus[3].links[0].active = facts.nvml.gpus[3].links[1].active = false;
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(count(machine, NodeKind::nvswitch), 1);
  for (const Pair& pair : machine.pairs) {
    EXPECT_EQ(pair.nvlinks, pair.from == 3 || pair.to == 3 ? 16 : 18);
  }
  EXPECT_THAT(machine.notes, Contains("16 of the 18 NVLinks of gpu:3 are up"));
}

TEST(Join, BridgedGeForcePairHasTheBridgesRateAndNotItsGenerations) {
  Facts facts = machine({rtx3090(0), rtx3090(1)}, Claim::yes, Claim::yes);
  facts.nvml.gpus[0].links.assign(4, link_to_gpu(pci(0x11), 3, 14.062e9));
  facts.nvml.gpus[1].links.assign(4, link_to_gpu(pci(0x10), 3, 14.062e9));
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  const Link* link = link_between(machine, "gpu:0", "gpu:1");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->width, 4);
  EXPECT_EQ(link->generation, 3);
  EXPECT_EQ(link->origin, Origin::reported);
  EXPECT_NEAR(link->bytes_per_s, 52.9e9, 1e9);
  EXPECT_EQ(machine.pair(1, 0)->letters, "NV4");
  EXPECT_EQ(count(machine, NodeKind::nvswitch), 0);
}

TEST(Join, BothEndsOfABondMustSeeALink) {
  Facts facts = machine({rtx3090(0), rtx3090(1)}, Claim::yes, Claim::yes);
  facts.nvml.gpus[0].links.assign(4, link_to_gpu(pci(0x11), 3, 14.062e9));
  facts.nvml.gpus[1].links.assign(3, link_to_gpu(pci(0x10), 3, 14.062e9));
  EXPECT_EQ(join_facts(facts).pair(0, 1)->nvlinks, 3);
}

TEST(Join, PlainGeForcePairSaysWhyItHasNoPeerAccess) {
  Facts facts = machine({rtx3090(0), rtx3090(1)}, Claim::no, Claim::no);
  for (NvmlPairFacts& pair : facts.nvml.pairs) {
    pair.read = pair.write = nvml::p2p_chipset;
    pair.ancestor = nvml::topology_host_bridge;
  }
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(machine.pair(0, 1)->letters, "PHB");
  EXPECT_THAT(machine.pair(0, 1)->why_not, HasSubstr("chipset not supported"));
}

TEST(Join, EveryStatusOfNvmlHasItsOwnWords) {
  std::vector<std::string> seen;
  for (int status = nvml::p2p_ok; status <= nvml::p2p_unknown; ++status) {
    Facts facts = machine({rtx3090(0), rtx3090(1)}, Claim::no, Claim::no);
    for (NvmlPairFacts& pair : facts.nvml.pairs) pair.read = status;
    const std::string words = join_facts(facts).pair(0, 1)->why_not;
    const bool has_reason = status != nvml::p2p_ok && status != nvml::p2p_unknown;
    EXPECT_EQ(words.find("nobody says why") == std::string::npos, has_reason) << words;
    if (has_reason) {
      EXPECT_THAT(seen, Not(Contains(words)));
      seen.push_back(words);
    }
  }
}

TEST(Join, MigModeIsWhyAPairIsClosedAndItsLinksAreNotDrawn) {
  Facts facts = two_h200();
  facts.nvml.gpus[1].mig = true;
  for (AccessFacts& pair : facts.driver.pairs) pair.access = pair.atomics = Claim::no;
  facts.driver.gpus[1].uuid = "GPU-of-an-instance";
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  for (const Pair& pair : machine.pairs) {
    EXPECT_THAT(pair.why_not, HasSubstr("gpu:1 is in MIG mode"));
    EXPECT_EQ(pair.nvlinks, 0);
  }
}

TEST(Join, AFabricThatIsNotUpIsNamedAndNotPcie) {
  Facts facts = two_h200();
  for (NvmlGpuFacts& gpu : facts.nvml.gpus) gpu.fabric_state = nvml::fabric_in_progress;
  for (AccessFacts& pair : facts.driver.pairs) pair.access = pair.atomics = Claim::no;
  const Machine machine = join_facts(facts);
  EXPECT_THAT(machine.pair(0, 1)->why_not, HasSubstr("fabric"));
  EXPECT_THAT(machine.notes, Contains(HasSubstr("nvidia-fabricmanager")));
}

TEST(Join, WithoutNvmlNoLinkIsInventedAndNvlinkIsCalledLikely) {
  Facts facts = two_h200();
  facts.nvml = {};
  facts.nvml.notes = {"NVML was not read"};
  facts.host.driver = "580.1";
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(machine.driver, "580.1");
  EXPECT_FALSE(machine::nvlink_path(machine, 0, 1));
  EXPECT_EQ(machine.pair(0, 1)->access, Claim::yes);
  EXPECT_THAT(machine.notes, Contains(HasSubstr("only NVLink gives")));
  EXPECT_THAT(machine.notes, Contains("NVML was not read"));
  // Nobody reports the PCIe link, so it says nothing of width and generation and its rate is marked.
  const Link* link = link_between(machine, "gpu:0", "port:0");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->origin, Origin::assumed);
  EXPECT_EQ(link->width, 0);
}

TEST(Join, SwitchesAreOneNodeAndDevicesHangWhereTheyAre) {
  const Machine machine = join_facts(two_sockets_four_gpus());
  expect_sound(machine);
  EXPECT_EQ(count(machine, NodeKind::pcie_switch), 2);
  EXPECT_EQ(count(machine, NodeKind::root_port), 3);
  EXPECT_EQ(count(machine, NodeKind::nic), 2);
  EXPECT_EQ(count(machine, NodeKind::drive), 1);
  EXPECT_EQ(machine.pair(0, 1)->letters, "PIX");
  EXPECT_EQ(machine.pair(2, 3)->letters, "PIX");
  EXPECT_EQ(machine.pair(1, 2)->letters, "SYS");
  EXPECT_NE(link_between(machine, "socket:0", "socket:1"), nullptr);
  EXPECT_NE(link_between(machine, "gpu:2", "switch:1"), nullptr);
  EXPECT_NE(link_between(machine, "nic:1", "switch:1"), nullptr);
  EXPECT_EQ(machine.gpu(3)->numa, 1);
  EXPECT_EQ(machine.nodes[*machine.find(NodeKind::nic, 0)].name, "mlx5_0");
  // The drive could do generation 5, its port cannot.
  const Link* drive = link_between(machine, "drive:0", "port:2");
  ASSERT_NE(drive, nullptr);
  EXPECT_EQ(drive->generation, 4);
  EXPECT_EQ(drive->width, 4);
  EXPECT_EQ(drive->origin, Origin::reported);
  EXPECT_THAT(machine.notes, IsEmpty());
}

TEST(Join, AnEmulatedPortDoesNotMakeALinkSlowerThanItRuns) {
  Facts facts = two_sockets_four_gpus();
  for (PciFacts& device : facts.host.pci) {
    if (device.kind == PciKind::bridge) device.pcie = {1, 1, 1, 1};
  }
  const Machine machine = join_facts(facts);
  const Link* link = link_between(machine, "gpu:0", "switch:0");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->generation, 4);
  EXPECT_EQ(link->width, 16);
}

TEST(Join, LaptopWithoutGpuIsAMachineToo) {
  Facts facts;
  facts.driver.notes = {"CUDA is not available here: no library"};
  facts.host.cores = 8;
  facts.host.numa = {{0, 16_GiB, 0}};
  facts.host.pci = {{PciKind::gpu, pci(1), "", -1, 0, 0, {3, 16, 1, 16}}};
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(machine.gpu_count(), 0);
  EXPECT_THAT(machine.numa_nodes(), testing::ElementsAre(0));
  EXPECT_EQ(machine.host.workers, 8);
  EXPECT_THAT(machine.notes, Contains("CUDA is not available here: no library"));
  EXPECT_THAT(machine.notes, Contains("the PCI tree shows 1 NVIDIA GPU that CUDA cannot use"));
}

TEST(Join, HiddenGpusAreSaidAndLinksToThemAreNotDrawn) {
  Facts facts = machine({rtx3090(0), rtx3090(1)}, Claim::yes, Claim::yes);
  facts.nvml.gpus[0].links.assign(4, link_to_gpu(pci(0x11), 3, 14.062e9));
  facts.nvml.gpus[1].links.assign(4, link_to_gpu(pci(0x10), 3, 14.062e9));
  facts.driver.gpus.pop_back();
  facts.driver.pairs.clear();
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(link_between(machine, "gpu:0", "nvswitch:0"), nullptr);
  EXPECT_THAT(machine.notes, Contains(HasSubstr("NVML sees 2 GPUs and CUDA 1")));
}

TEST(Join, CudaOrdinalsAndNvmlIndicesMayDiffer) {
  Facts facts = two_h200();
  std::swap(facts.nvml.gpus[0].pci, facts.nvml.gpus[1].pci);
  std::swap(facts.nvml.gpus[0].uuid, facts.nvml.gpus[1].uuid);
  facts.nvml.gpus[0].links.resize(12);
  facts.nvml.gpus[1].pcie = {3, 8, 3, 8};
  const Machine machine = join_facts(facts);
  EXPECT_EQ(link_between(machine, "gpu:1", "nvswitch:0")->width, 12);
  EXPECT_EQ(link_between(machine, "gpu:0", "port:0")->generation, 3);
}

TEST(Join, AnIdleLinkIsNotedSoftlyAndKeepsItsBestRate) {
  Facts facts = two_h200();
  facts.nvml.gpus[0].pcie = {5, 16, 1, 8};
  const Machine machine = join_facts(facts);
  EXPECT_EQ(link_between(machine, "gpu:0", "port:0")->generation, 5);
  EXPECT_THAT(machine.notes, Contains(HasSubstr("gpu:0 runs below its best generation now, as idle links do")));
  EXPECT_THAT(machine.notes, Contains("the PCIe link of gpu:0 is ×8 now and could be ×16"));
}

TEST(Join, AGraceGpuHasItsChipToChipLink) {
  Facts facts = machine({h200(0)}, Claim::unknown, Claim::unknown);
  facts.nvml.gpus[0].c2c_links = 10;
  const Machine machine = join_facts(facts);
  expect_sound(machine);
  EXPECT_EQ(machine::host_path(machine, 0, 0, true)->kind, LinkKind::c2c);
}

/// Facts that agree on nothing: the machine is sound all the same.
RC_GTEST_PROP(Join, IsSoundForAnyFacts, ()) {
  const int gpus = *rc::gen::inRange(0, 5);
  std::vector<GpuFacts> made_gpus;
  for (int i = 0; i < gpus; ++i) made_gpus.push_back(*rc::gen::arbitrary<bool>() ? h200(i) : rtx3090(i));
  Facts facts = machine(made_gpus, *rc::gen::element(Claim::unknown, Claim::no, Claim::yes),
                        *rc::gen::element(Claim::unknown, Claim::no, Claim::yes));
  for (GpuFacts& gpu : facts.driver.gpus) {
    if (*rc::gen::inRange(0, 4) == 0) gpu.pci.clear();
    if (*rc::gen::inRange(0, 4) == 0) gpu.memory_clock_hz = 0;
  }
  for (NvmlGpuFacts& gpu : facts.nvml.gpus) {
    const int links = *rc::gen::inRange(0, 19);
    for (int i = 0; i < links; ++i) {
      gpu.links.push_back({*rc::gen::arbitrary<bool>(), *rc::gen::inRange(0, 8), *rc::gen::element(0.0, 14e9, 26e9),
                           *rc::gen::element(FarEnd::unknown, FarEnd::gpu, FarEnd::nvswitch, FarEnd::cpu),
                           pci(*rc::gen::inRange(0x0f, 0x16))});
    }
    gpu.mig = *rc::gen::inRange(0, 5) == 0;
    gpu.pcie = {*rc::gen::inRange(0, 7), *rc::gen::inRange(0, 17), *rc::gen::inRange(0, 7), *rc::gen::inRange(0, 17)};
    gpu.fabric_state = *rc::gen::inRange(0, 5);
  }
  for (NvmlPairFacts& pair : facts.nvml.pairs) {
    pair.read = *rc::gen::inRange(-1, 9);
    pair.nvlink = *rc::gen::inRange(-1, 9);
    pair.ancestor = *rc::gen::inRange(-10, 60);
  }
  facts.host.sockets = *rc::gen::inRange(0, 4);
  const int devices = *rc::gen::inRange(0, 12);
  for (int i = 0; i < devices; ++i) {
    facts.host.pci.push_back({*rc::gen::element(PciKind::bridge, PciKind::gpu, PciKind::nic, PciKind::drive),
                              pci(0x10 + i),
                              "",
                              -1,
                              *rc::gen::inRange(0, 4),
                              *rc::gen::inRange(-1, 3),
                              {*rc::gen::inRange(0, 7), *rc::gen::inRange(0, 33), 0, 0}});
    for (int above = 0; above < i; ++above) {
      if (facts.host.pci[above].kind == PciKind::bridge && *rc::gen::arbitrary<bool>()) facts.host.pci[i].above = above;
    }
  }
  expect_sound(join_facts(facts));
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace peerlane::discover

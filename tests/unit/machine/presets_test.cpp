#include <gmock/gmock.h>

#include <map>
#include <set>

#include "machine/paths.hpp"
#include "peerlane/machine.hpp"

namespace peerlane {
namespace {

using testing::HasSubstr;

class EveryPreset : public testing::TestWithParam<std::string_view> {
 protected:
  const Machine machine = preset(GetParam()).value();

  /// Calls `check` with every ordered pair of different GPUs.
  template <class Check>
  void for_each_pair(Check check) const {
    for (int from = 0; from < machine.gpu_count(); ++from) {
      for (int to = 0; to < machine.gpu_count(); ++to) {
        if (from != to) check(from, to);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, testing::ValuesIn(preset_names()), [](const auto& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(EveryPreset, BearsItsNameAndIsNotLive) {
  EXPECT_EQ(machine.name, GetParam());
  EXPECT_FALSE(machine.live);
  EXPECT_TRUE(machine.source.empty());
  EXPECT_GT(machine.cuda_version, 12000);
}

TEST_P(EveryPreset, HasNodesWithTheirOwnIdsAndPciAddresses) {
  std::set<std::string> ids;
  std::set<std::string> addresses;
  for (const Node& node : machine.nodes) {
    EXPECT_TRUE(ids.insert(node.id()).second) << node.id();
    const bool alone = node.pci.empty() || addresses.insert(node.pci).second;
    EXPECT_TRUE(alone) << node.id() << " " << node.pci;
  }
}

TEST_P(EveryPreset, NumbersEachKindFromZero) {
  std::map<NodeKind, std::set<int>> numbers;
  for (const Node& node : machine.nodes) numbers[node.kind].insert(node.index);
  for (const auto& [kind, seen] : numbers) {
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), static_cast<int>(seen.size()) - 1);
  }
}

TEST_P(EveryPreset, HasLinksThatEndAtNodesAndCarryBytes) {
  for (const Link& link : machine.links) {
    ASSERT_GE(std::min(link.a, link.b), 0);
    ASSERT_LT(std::max(link.a, link.b), static_cast<int>(machine.nodes.size()));
    EXPECT_NE(link.a, link.b);
    EXPECT_GE(link.bytes_per_s, 1e9);
    EXPECT_GT(link.latency_s, 0);
    EXPECT_LT(link.latency_s, 1e-6);
    EXPECT_EQ(link.origin, Origin::assumed);
  }
}

TEST_P(EveryPreset, HasCompleteGpus) {
  for (int i = 0; i < machine.gpu_count(); ++i) {
    const Node* gpu = machine.gpu(i);
    ASSERT_NE(gpu, nullptr);
    EXPECT_FALSE(gpu->name.empty());
    EXPECT_GE(gpu->memory, 8_GiB);
    EXPECT_GT(gpu->memory_bytes_per_s, 100e9);
    EXPECT_GE(gpu->compute_major, 7);
    EXPECT_GE(gpu->copy_engines, 1);
    EXPECT_TRUE(machine.find(NodeKind::numa, gpu->numa));
  }
}

TEST_P(EveryPreset, LeadsEveryGpuToAndFromEveryNumaNode) {
  for (int i = 0; i < machine.gpu_count(); ++i) {
    for (const int numa : machine.numa_nodes()) {
      const auto there = machine::host_path(machine, i, numa, true);
      const auto back = machine::host_path(machine, i, numa, false);
      ASSERT_TRUE(there && back) << "gpu:" << i << " host:" << numa;
      EXPECT_DOUBLE_EQ(there->bytes_per_s, back->bytes_per_s);
      EXPECT_GT(there->latency_s, 0.4e-6);
      EXPECT_LT(there->latency_s, 1.5e-6);
      EXPECT_EQ(there->kind, LinkKind::pcie);
    }
    const auto nearest = machine::host_path(machine, i, -1, true);
    EXPECT_FALSE(nearest->crosses_sockets);
    EXPECT_EQ(machine::nearest_numa(machine, i), machine.gpu(i)->numa);
  }
}

TEST_P(EveryPreset, KnowsEveryOrderedPairOnce) {
  const int gpus = machine.gpu_count();
  EXPECT_EQ(machine.pairs.size(), static_cast<std::size_t>(gpus * (gpus - 1)));
  for_each_pair([&](int from, int to) { EXPECT_NE(machine.pair(from, to), nullptr); });
}

TEST_P(EveryPreset, HasPairsThatAgreeWithTheLinks) {
  for_each_pair([&](int from, int to) {
    SCOPED_TRACE(testing::Message() << "gpu:" << from << " to gpu:" << to);
    const Pair& pair = *machine.pair(from, to);
    const auto nvlink = machine::nvlink_path(machine, from, to);
    if (nvlink) {
      EXPECT_EQ(pair.letters, "NV" + std::to_string(nvlink->width));
      EXPECT_EQ(pair.nvlinks, nvlink->width);
      EXPECT_EQ(pair.access, Claim::yes);
      EXPECT_EQ(pair.atomics, Claim::yes);
    } else {
      const int a = *machine.find(NodeKind::gpu, from);
      const int b = *machine.find(NodeKind::gpu, to);
      EXPECT_EQ(pair.letters, machine::pcie_letters(machine, a, b));
      EXPECT_EQ(pair.nvlinks, 0);
      EXPECT_EQ(pair.atomics, Claim::no);
      EXPECT_TRUE(machine::pcie_path(machine, from, to));
    }
    EXPECT_EQ(pair.access == Claim::no, !pair.why_not.empty());
    if (!pair.why_not.empty()) {
      EXPECT_THAT(pair.why_not, HasSubstr("gpu:" + std::to_string(from)));
      EXPECT_THAT(pair.why_not, HasSubstr("gpu:" + std::to_string(to)));
    }
  });
}

TEST_P(EveryPreset, IsSymmetric) {
  for_each_pair([&](int from, int to) {
    const Pair& there = *machine.pair(from, to);
    const Pair& back = *machine.pair(to, from);
    EXPECT_EQ(there.letters, back.letters);
    EXPECT_EQ(there.access, back.access);
  });
}

/// NVLinks that a GPU spends, over all its links.
int spent_nvlinks(const Machine& machine, int gpu) {
  const int at = *machine.find(NodeKind::gpu, gpu);
  int spent = 0;
  for (const Link& link : machine.links) {
    if (link.kind == LinkKind::nvlink && (link.a == at || link.b == at)) spent += link.width;
  }
  return spent;
}

TEST(NvlinkPresets, SpendTheLinksThatTheirGpusHave) {
  const std::pair<std::string_view, int> expected[] = {{"dgx-1-v100", 6}, {"dgx-2", 6},      {"dgx-a100", 12},
                                                       {"dgx-h100", 18},  {"hgx-h200", 18},  {"rtx3090-pair", 4},
                                                       {"rtx4090-4", 0},  {"laptop-1gpu", 0}};
  for (const auto& [name, links] : expected) {
    const Machine machine = preset(name).value();
    for (int i = 0; i < machine.gpu_count(); ++i) EXPECT_EQ(spent_nvlinks(machine, i), links) << name << " gpu:" << i;
  }
}

TEST(Dgx1, IsTheHybridCubeMesh) {
  // Rows as `nvidia-smi topo -m` prints them on the real machine.
  const std::string_view rows[8][8] = {
      {"X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"}, {"NV1", "X", "NV2", "NV1", "SYS", "NV2", "SYS", "SYS"},
      {"NV1", "NV2", "X", "NV2", "SYS", "SYS", "NV1", "SYS"}, {"NV2", "NV1", "NV2", "X", "SYS", "SYS", "SYS", "NV1"},
      {"NV2", "SYS", "SYS", "SYS", "X", "NV1", "NV1", "NV2"}, {"SYS", "NV2", "SYS", "SYS", "NV1", "X", "NV2", "NV1"},
      {"SYS", "SYS", "NV1", "SYS", "NV1", "NV2", "X", "NV2"}, {"SYS", "SYS", "SYS", "NV1", "NV2", "NV1", "NV2", "X"},
  };
  const Machine machine = preset("dgx-1-v100").value();
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from == to) continue;
      EXPECT_EQ(machine.pair(from, to)->letters, rows[from][to]) << from << " " << to;
      EXPECT_EQ(machine.pair(from, to)->access, rows[from][to] == "SYS" ? Claim::no : Claim::yes);
    }
  }
}

TEST(Dgx1, LeadsAroundThroughAGpuThatHasLinksToBoth) {
  const Machine machine = preset("dgx-1-v100").value();
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from == to || machine::nvlink_path(machine, from, to)) continue;
      int ways = 0;
      for (int by = 0; by < 8; ++by) {
        ways +=
            by != from && by != to && machine::nvlink_path(machine, from, by) && machine::nvlink_path(machine, by, to);
      }
      EXPECT_GE(ways, 1) << from << " " << to;
    }
  }
}

TEST(PeerRates, AreWhatTheseMachinesReach) {
  const auto rate = [](std::string_view name, int from, int to) {
    const Machine machine = preset(name).value();
    return machine::nvlink_path(machine, from, to).value().bytes_per_s / 1e9;
  };
  EXPECT_NEAR(rate("dgx-1-v100", 0, 1), 24.2, 0.1);
  EXPECT_NEAR(rate("dgx-1-v100", 0, 3), 48.3, 0.1);
  EXPECT_NEAR(rate("dgx-2", 0, 15), 145, 1);
  EXPECT_NEAR(rate("dgx-a100", 0, 7), 260, 1);
  EXPECT_NEAR(rate("dgx-h100", 0, 7), 396, 1);
  EXPECT_NEAR(rate("hgx-h200", 3, 4), 396, 1);
  EXPECT_NEAR(rate("rtx3090-pair", 0, 1), 49.5, 0.1);
}

TEST(PeerLatency, MakesATinyCopyTakeWhatItTakesOnTwoH200) {
  const Machine machine = preset("hgx-h200").value();
  const auto path = machine::nvlink_path(machine, 0, 1).value();
  const double seconds = machine::copy_engine_overhead_s + path.latency_s + 4096 / path.bytes_per_s;
  EXPECT_NEAR(seconds, 1.86e-6, 0.03e-6);
}

TEST(HostRates, AreWhatTheseMachinesReach) {
  const std::pair<std::string_view, double> expected[] = {
      {"dgx-1-v100", 12.0},   {"dgx-2", 12.0},     {"dgx-a100", 26.3},
      {"dgx-h100", 55.4},     {"hgx-h200", 55.4},  {"pcie-2socket-4gpu", 26.3},
      {"rtx3090-pair", 13.1}, {"rtx4090-4", 26.3}, {"laptop-1gpu", 13.1}};
  for (const auto& [name, rate] : expected) {
    const Machine machine = preset(name).value();
    for (int i = 0; i < machine.gpu_count(); ++i) {
      EXPECT_NEAR(machine::host_path(machine, i, -1, true)->bytes_per_s / 1e9, rate, 0.1) << name;
    }
  }
}

TEST(PcieMachine, OpensPeerAccessUnderOneSwitchOnly) {
  const Machine machine = preset("pcie-2socket-4gpu").value();
  EXPECT_EQ(machine.pair(0, 1)->access, Claim::yes);
  EXPECT_EQ(machine.pair(0, 1)->letters, "PIX");
  EXPECT_EQ(machine.pair(0, 2)->access, Claim::no);
  EXPECT_EQ(machine.pair(0, 2)->letters, "SYS");
}

TEST(GeforceMachine, OpensNoPeerAccess) {
  const Machine machine = preset("rtx4090-4").value();
  for (const Pair& pair : machine.pairs) {
    EXPECT_EQ(pair.access, Claim::no);
    EXPECT_THAT(pair.why_not, HasSubstr("GeForce"));
  }
}

TEST(DgxA100, HasEightNumaNodesOnTwoSockets) {
  const Machine machine = preset("dgx-a100").value();
  EXPECT_EQ(machine.numa_nodes().size(), 8u);
  EXPECT_FALSE(machine::host_path(machine, 0, 0, true)->crosses_sockets);
  EXPECT_TRUE(machine::host_path(machine, 0, 4, true)->crosses_sockets);
}

TEST(UnknownPreset, IsAnsweredWithTheList) {
  const auto machine = preset("dgx-9000");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().kind, ErrorKind::invalid_argument);
  for (const std::string_view name : preset_names()) {
    EXPECT_THAT(machine.error().message(), HasSubstr(std::string(name)));
  }
}

}  // namespace
}  // namespace peerlane

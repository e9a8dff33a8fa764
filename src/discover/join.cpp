#include "discover/join.hpp"

#include <algorithm>

#include "discover/draft.hpp"
#include "machine/paths.hpp"

namespace peerlane::discover {
namespace {

/// What copies get of the nominal rate, reading and writing together: 1.99 TB/s each way of 4.81 for 1 GiB on an H200.
constexpr double copy_share = 0.83;

/// Nominal bytes/s of the usual memory of a compute capability, for drivers that no longer report the clock.
double usual_memory_rate(int major, int minor) {
  struct Usual {
    int capability;
    double bytes_per_s;
  };
  constexpr Usual usual[] = {{120, 1.79e12}, {100, 8.0e12}, {90, 3.35e12}, {89, 0.86e12}, {86, 0.77e12},
                             {80, 1.56e12},  {75, 0.45e12}, {70, 0.9e12},  {60, 0.73e12}};
  for (const Usual& chip : usual) {
    if (major * 10 + minor >= chip.capability) return chip.bytes_per_s;
  }
  return 0.3e12;
}

double memory_rate(const GpuFacts& gpu) {
  const double twice_a_cycle = 2 * gpu.memory_clock_hz * gpu.memory_bus_bits / 8;
  return copy_share * (twice_a_cycle > 0 ? twice_a_cycle : usual_memory_rate(gpu.compute_major, gpu.compute_minor));
}

constexpr int most_useful_workers = 12;  // measured beside an H200: 8 threads 41 GB/s, 12 threads 43

}  // namespace

const NvmlGpuFacts* nvml_of(const Facts& facts, const GpuFacts& gpu) {
  // By address first: a GPU in MIG mode shows CUDA the UUID of its instance.
  for (const NvmlGpuFacts& known : facts.nvml.gpus) {
    if (!gpu.pci.empty() && known.pci == gpu.pci) return &known;
  }
  for (const NvmlGpuFacts& known : facts.nvml.gpus) {
    if (!gpu.uuid.empty() && known.uuid == gpu.uuid) return &known;
  }
  return nullptr;
}

const NvmlPairFacts* nvml_of(const Facts& facts, const GpuFacts& from, const GpuFacts& to) {
  const NvmlGpuFacts* a = nvml_of(facts, from);
  const NvmlGpuFacts* b = nvml_of(facts, to);
  if (a == nullptr || b == nullptr) return nullptr;
  const auto found = std::find_if(facts.nvml.pairs.begin(), facts.nvml.pairs.end(), [&](const NvmlPairFacts& pair) {
    return pair.from == a->index && pair.to == b->index;
  });
  return found != facts.nvml.pairs.end() ? &*found : nullptr;
}

void add_gpus(Draft& draft, const Facts& facts) {
  for (const GpuFacts& gpu : facts.driver.gpus) {
    Node& node = draft.machine.nodes[draft.add_numbered(NodeKind::gpu, gpu.ordinal, gpu.name, gpu.pci)];
    node.uuid = gpu.uuid;
    node.memory = gpu.memory;
    node.memory_bytes_per_s = memory_rate(gpu);
    node.compute_major = gpu.compute_major;
    node.compute_minor = gpu.compute_minor;
    node.copy_engines = gpu.copy_engines;
  }
}

Machine join_facts(const Facts& facts) {
  Draft draft;
  draft.machine.name = "this machine";
  draft.machine.live = true;
  draft.machine.driver = facts.nvml.driver.empty() ? facts.host.driver : facts.nvml.driver;
  draft.machine.cuda_version = facts.driver.cuda_version;
  draft.machine.host.workers = std::clamp(facts.host.cores, 1, most_useful_workers);

  add_gpus(draft, facts);
  grow_tree(draft, facts);
  string_nvlinks(draft, facts);
  claim_pairs(draft, facts);
  machine::claim_nearness(draft.machine);
  add_notes(draft, facts);
  return std::move(draft.machine);
}

}  // namespace peerlane::discover

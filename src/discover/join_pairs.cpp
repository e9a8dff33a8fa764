#include <algorithm>

#include "discover/draft.hpp"
#include "machine/paths.hpp"
#include "peerlane/place.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::discover {
namespace {

/// NVIDIA's letters for NVML's common ancestor; empty where it names none.
std::string letters_of(std::optional<int> ancestor) {
  switch (ancestor.value_or(-1)) {
    case nvml::topology_internal:
    case nvml::topology_single_switch:
      return "PIX";
    case nvml::topology_switches:
      return "PXB";
    case nvml::topology_host_bridge:
      return "PHB";
    case nvml::topology_node:
      return "NODE";
    case nvml::topology_system:
      return "SYS";
    default:
      return "";
  }
}

/// Why NVML says that there is no peer access; empty where it says nothing, or that there is.
std::string words_of(std::optional<int> status) {
  switch (status.value_or(nvml::p2p_ok)) {
    case nvml::p2p_chipset:
      return "the platform does not support it (NVML: chipset not supported)";
    case nvml::p2p_gpu:
      return "these GPUs do not support it (NVML: GPU not supported)";
    case nvml::p2p_ioh:
      return "the GPUs hang on different I/O hubs, which pass no peer traffic (NVML: IOH topology not supported)";
    case nvml::p2p_registry:
      return "a registry key of the driver switches it off (NVML: disabled by registry key)";
    case nvml::p2p_not_supported:
      return "the driver does not support it for this pair (NVML: not supported)";
    default:
      return "";
  }
}

bool in_mig_mode(const NvmlGpuFacts* gpu) {
  return gpu != nullptr && gpu->mig;
}

bool waits_for_fabric(const NvmlGpuFacts* gpu) {
  return gpu != nullptr &&
         (gpu->fabric_state == nvml::fabric_not_started || gpu->fabric_state == nvml::fabric_in_progress);
}

std::string why_closed(const Facts& facts, const GpuFacts& from, const GpuFacts& to) {
  for (const GpuFacts* gpu : {&from, &to}) {
    const NvmlGpuFacts* nvml = nvml_of(facts, *gpu);
    const std::string place = to_string(peerlane::gpu(gpu->ordinal));
    if (in_mig_mode(nvml)) return place + " is in MIG mode, in which a GPU reaches no peer and is reached by none";
    if (waits_for_fabric(nvml)) return "the NVSwitch fabric of " + place + " is not up";
  }
  if (const NvmlPairFacts* pair = nvml_of(facts, from, to); pair != nullptr) {
    for (const auto& status : {pair->read, pair->write, pair->pci, pair->nvlink}) {
      if (std::string words = words_of(status); !words.empty()) return words;
    }
  }
  return "the driver says that this pair has no peer access, and nobody says why";
}

Pair join_pair(const Draft& draft, const Facts& facts, const GpuFacts& from, const GpuFacts& to) {
  Pair pair{.from = from.ordinal, .to = to.ordinal, .letters = "", .why_not = ""};
  if (const auto path = machine::nvlink_path(draft.machine, from.ordinal, to.ordinal)) {
    pair.nvlinks = path->width;
    pair.letters = "NV" + std::to_string(path->width);
    return pair;
  }
  const NvmlPairFacts* known = nvml_of(facts, from, to);
  pair.letters = letters_of(known != nullptr ? known->ancestor : std::nullopt);
  if (pair.letters.empty()) {
    pair.letters = machine::pcie_letters(draft.machine, draft.gpu(from.ordinal), draft.gpu(to.ordinal));
  }
  return pair;
}

const AccessFacts* access_of(const Facts& facts, int from, int to) {
  const auto& pairs = facts.driver.pairs;
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [&](const AccessFacts& pair) { return pair.from == from && pair.to == to; });
  return found != pairs.end() ? &*found : nullptr;
}

}  // namespace

void claim_pairs(Draft& draft, const Facts& facts) {
  for (const GpuFacts& from : facts.driver.gpus) {
    for (const GpuFacts& to : facts.driver.gpus) {
      if (from.ordinal == to.ordinal) continue;
      Pair pair = join_pair(draft, facts, from, to);
      if (const AccessFacts* claim = access_of(facts, from.ordinal, to.ordinal); claim != nullptr) {
        pair.access = claim->access;
        pair.atomics = claim->atomics;
      }
      if (pair.access == Claim::no) pair.why_not = why_closed(facts, from, to);
      draft.machine.pairs.push_back(std::move(pair));
    }
  }
}

}  // namespace peerlane::discover

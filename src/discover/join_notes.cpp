#include <algorithm>
#include <functional>

#include "base/text.hpp"
#include "discover/draft.hpp"
#include "peerlane/place.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::discover {
namespace {

std::string place_of(const GpuFacts& gpu) {
  return to_string(peerlane::gpu(gpu.ordinal));
}

/// "gpu:0", "gpu:0 and gpu:1": the GPUs of which something holds.
std::vector<std::string> which(const Facts& facts, const std::function<bool(const GpuFacts&)>& holds) {
  std::vector<std::string> places;
  for (const GpuFacts& gpu : facts.driver.gpus) {
    if (holds(gpu)) places.push_back(place_of(gpu));
  }
  return places;
}

bool in_tree(const Facts& facts, const GpuFacts& gpu) {
  return std::any_of(facts.host.pci.begin(), facts.host.pci.end(), [&](const PciFacts& device) {
    return device.kind != PciKind::bridge && !gpu.pci.empty() && device.pci == gpu.pci;
  });
}

void note_unseen(Draft& draft, const Facts& facts) {
  const auto unseen = which(facts, [&](const GpuFacts& gpu) { return !in_tree(facts, gpu); });
  if (unseen.empty()) return;
  draft.note("the PCI tree does not show " + join(unseen) +
             " (a container or virtual machine?): drawn straight at a root port of the first socket");
}

void note_hidden(Draft& draft, const Facts& facts) {
  const std::size_t by_nvml = facts.nvml.gpus.size(), by_cuda = facts.driver.gpus.size();
  if (by_cuda == 0 || by_nvml <= by_cuda) return;
  draft.note("NVML sees " + std::to_string(by_nvml) + " GPUs and CUDA " + std::to_string(by_cuda) +
             ": CUDA_VISIBLE_DEVICES or the container hides the others");
}

/// Idle links train down to save power, so a low generation is no fault; a narrow link may be one.
void note_slow_links(Draft& draft, const Facts& facts) {
  const auto pcie = [&](const GpuFacts& gpu) {
    const NvmlGpuFacts* nvml = nvml_of(facts, gpu);
    return nvml != nullptr ? nvml->pcie : PcieFacts{};
  };
  const auto slow = which(facts, [&](const GpuFacts& gpu) {
    const PcieFacts link = pcie(gpu);
    return link.generation_now > 0 && link.generation_now < link.generation;
  });
  if (!slow.empty()) {
    draft.note("the PCIe link of " + join(slow) +
               " runs below its best generation now, as idle links do; the best one is what the rates are taken from");
  }
  for (const GpuFacts& gpu : facts.driver.gpus) {
    const PcieFacts link = pcie(gpu);
    if (link.width_now == 0 || link.width_now >= link.width) continue;
    draft.note("the PCIe link of " + place_of(gpu) + " is ×" + std::to_string(link.width_now) + " now and could be ×" +
               std::to_string(link.width));
  }
}

void note_nvlinks_down(Draft& draft, const Facts& facts) {
  for (const GpuFacts& gpu : facts.driver.gpus) {
    const NvmlGpuFacts* nvml = nvml_of(facts, gpu);
    if (nvml == nullptr) continue;
    const auto active =
        std::count_if(nvml->links.begin(), nvml->links.end(), [](const NvlinkFacts& link) { return link.active; });
    if (active == 0 || static_cast<std::size_t>(active) == nvml->links.size()) continue;
    draft.note(std::to_string(active) + " of the " + std::to_string(nvml->links.size()) + " NVLinks of " +
               place_of(gpu) + " are up");
  }
}

void note_fabric(Draft& draft, const Facts& facts) {
  const auto waiting = which(facts, [&](const GpuFacts& gpu) {
    const NvmlGpuFacts* nvml = nvml_of(facts, gpu);
    const int state = nvml != nullptr ? nvml->fabric_state : nvml::fabric_not_supported;
    return state == nvml::fabric_not_started || state == nvml::fabric_in_progress;
  });
  if (waiting.empty()) return;
  draft.note("the NVSwitch fabric of " + join(waiting) +
             " is not up: start nvidia-fabricmanager, of exactly the driver's version");
}

void note_likely_nvlink(Draft& draft, const Facts& facts) {
  const bool likely = std::any_of(draft.machine.pairs.begin(), draft.machine.pairs.end(), [](const Pair& pair) {
    return pair.access == Claim::yes && pair.atomics == Claim::yes && pair.nvlinks == 0;
  });
  if (!likely || facts.nvml.available) return;
  draft.note(
      "GPUs reach each other with native atomics, which only NVLink gives, but NVML did not name the links: the rates "
      "between them are those of PCIe, which is too low");
}

/// "gpu:0 and gpu:1 have no peer road over PCIe …", once for all pairs that share the reason.
void note_closed_pcie(Draft& draft, const Facts& facts) {
  std::vector<std::string> pairs;
  std::size_t linked = 0;
  for (const GpuFacts& a : facts.driver.gpus) {
    for (const GpuFacts& b : facts.driver.gpus) {
      const Pair* pair = a.ordinal < b.ordinal ? draft.machine.pair(a.ordinal, b.ordinal) : nullptr;
      if (pair == nullptr || pair->nvlinks == 0 || pair->access != Claim::yes) continue;
      ++linked;
      const NvmlPairFacts* known = nvml_of(facts, a, b);
      const bool closed = known != nullptr && known->pci.has_value() && *known->pci != nvml::p2p_ok;
      if (closed) pairs.push_back(place_of(a) + " and " + place_of(b));
    }
  }
  if (pairs.empty()) return;
  const std::string who = pairs.size() == 1        ? pairs.front() + " have"
                          : pairs.size() == linked ? "GPUs with NVLink between them have"
                                                   : std::to_string(pairs.size()) + " pairs of GPUs with NVLink have";
  draft.note(who + " no peer road over PCIe as well; NVLink carries all of it");
}

/// Cards on the bus that CUDA could not use, when it can use none.
void note_idle_cards(Draft& draft, const Facts& facts) {
  const auto cards = std::count_if(facts.host.pci.begin(), facts.host.pci.end(),
                                   [](const PciFacts& device) { return device.kind == PciKind::gpu; });
  if (cards == 0 || !facts.driver.gpus.empty()) return;
  draft.note("the PCI tree shows " + std::to_string(cards) + (cards == 1 ? " NVIDIA GPU" : " NVIDIA GPUs") +
             " that CUDA cannot use");
}

}  // namespace

void add_notes(Draft& draft, const Facts& facts) {
  for (const auto* notes : {&facts.driver.notes, &facts.nvml.notes, &facts.host.notes}) {
    for (const std::string& sentence : *notes) draft.note(sentence);
  }
  note_idle_cards(draft, facts);
  note_hidden(draft, facts);
  note_unseen(draft, facts);
  note_fabric(draft, facts);
  note_nvlinks_down(draft, facts);
  note_slow_links(draft, facts);
  note_likely_nvlink(draft, facts);
  note_closed_pcie(draft, facts);
}

}  // namespace peerlane::discover

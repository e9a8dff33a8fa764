#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "discover/draft.hpp"
#include "machine/paths.hpp"
#include "peerlane/place.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::discover {
namespace {

using machine::Bond;

void add(Bond& bond, const NvlinkFacts& link) {
  ++bond.width;
  bond.generation = std::max(bond.generation, link.generation);
  bond.raw_bytes_per_s = std::max(bond.raw_bytes_per_s, link.raw_bytes_per_s);
}

/// Where the links of all GPUs lead.
struct Strung {
  std::map<std::pair<int, int>, Bond> between;  ///< by node indices, as the first one sees it
  std::map<int, Bond> to_switch;
  std::vector<std::string> guessed;  ///< GPUs whose far ends NVML does not name
};

class Stringer {
 public:
  Stringer(Draft& draft, const Facts& facts) : draft_(draft), facts_(facts) {}

  void string() {
    for (const GpuFacts& gpu : facts_.driver.gpus) follow(gpu);
    tie_pairs();
    tie_switch();
    if (!strung_.guessed.empty()) {
      draft_.note("NVML does not say where the NVLinks of " + join(strung_.guessed) +
                  " lead; as it calls their peers reachable over NVLink, they are taken to meet in one switch");
    }
  }

 private:
  void follow(const GpuFacts& gpu) {
    const NvmlGpuFacts* nvml = nvml_of(facts_, gpu);
    if (nvml == nullptr || nvml->mig) return;  // no instance of a GPU in MIG mode reaches a peer
    const int node = draft_.gpu(gpu.ordinal);
    Bond unnamed;
    for (const NvlinkFacts& link : nvml->links) {
      if (!link.active) continue;
      const GpuFacts* peer = gpu_at(link.far_pci);
      if (peer != nullptr && peer->ordinal != gpu.ordinal) {
        add(strung_.between[{node, draft_.gpu(peer->ordinal)}], link);
      } else if (link.far_end == FarEnd::nvswitch) {
        add(strung_.to_switch[node], link);
      } else if (link.far_end != FarEnd::cpu && !hidden(link.far_pci)) {
        add(unnamed, link);
      }
    }
    if (unnamed.width == 0 || !reaches_a_peer(gpu)) return;
    Bond& bond = strung_.to_switch[node];
    const int known = bond.width;
    bond = unnamed;
    bond.width += known;
    strung_.guessed.push_back(to_string(peerlane::gpu(gpu.ordinal)));
  }

  const GpuFacts* gpu_at(const std::string& pci) const {
    const auto& gpus = facts_.driver.gpus;
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuFacts& gpu) { return gpu.pci == pci; });
    return pci.empty() || found == gpus.end() ? nullptr : &*found;
  }

  /// A GPU that NVML sees and CUDA does not.
  bool hidden(const std::string& pci) const {
    return !pci.empty() && std::any_of(facts_.nvml.gpus.begin(), facts_.nvml.gpus.end(),
                                       [&](const NvmlGpuFacts& gpu) { return gpu.pci == pci; });
  }

  bool reaches_a_peer(const GpuFacts& gpu) const {
    return std::any_of(facts_.driver.gpus.begin(), facts_.driver.gpus.end(), [&](const GpuFacts& other) {
      const NvmlPairFacts* pair = other.ordinal == gpu.ordinal ? nullptr : nvml_of(facts_, gpu, other);
      return pair != nullptr && pair->nvlink == nvml::p2p_ok;
    });
  }

  void tie_pairs() {
    for (const auto& [ends, bond] : strung_.between) {
      const auto [a, b] = ends;
      const auto back = strung_.between.find({b, a});
      if (back != strung_.between.end() && a > b) continue;  // tied from its other end
      Bond both = bond;
      if (back != strung_.between.end()) both.width = std::min(bond.width, back->second.width);
      tie(a, b, both);
    }
  }

  void tie_switch() {
    if (strung_.to_switch.empty()) return;
    const int nvswitch = draft_.add(NodeKind::nvswitch, "NVSwitch");
    for (const auto& [node, bond] : strung_.to_switch) tie(node, nvswitch, bond);
  }

  void tie(int a, int b, const Bond& bond) {
    draft_.bond(a, b, bond, machine::usual_nvlink_generation(draft_.machine.nodes[a].compute_major));
  }

  Draft& draft_;
  const Facts& facts_;
  Strung strung_;
};

}  // namespace

void string_nvlinks(Draft& draft, const Facts& facts) {
  Stringer(draft, facts).string();
}

}  // namespace peerlane::discover

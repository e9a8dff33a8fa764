#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "discover/draft.hpp"
#include "machine/paths.hpp"
#include "peerlane/place.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::discover {
namespace {

/// NVML's speed is the signalling rate; so much of it is payload.
constexpr double payload_share = 0.94;

/// Links that run side by side to the same far end.
struct Bond {
  int width = 0;
  int generation = 0;
  double raw_bytes_per_s = 0;  ///< of one link; 0 unknown

  void add(const NvlinkFacts& link) {
    ++width;
    generation = std::max(generation, link.generation);
    raw_bytes_per_s = std::max(raw_bytes_per_s, link.raw_bytes_per_s);
  }
};

int usual_generation(int compute_major) {
  switch (compute_major) {
    case 6:
      return 1;
    case 7:
      return 2;
    case 8:
      return 3;
    case 9:
      return 4;
    default:
      return compute_major >= 10 ? 5 : 0;
  }
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
        strung_.between[{node, draft_.gpu(peer->ordinal)}].add(link);
      } else if (link.far_end == FarEnd::nvswitch) {
        strung_.to_switch[node].add(link);
      } else if (link.far_end != FarEnd::cpu && !hidden(link.far_pci)) {
        unnamed.add(link);
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
      tie(a, b, both, 1);
    }
  }

  void tie_switch() {
    if (strung_.to_switch.empty()) return;
    const int nvswitch = draft_.add(NodeKind::nvswitch, "NVSwitch");
    // Half of the way between two GPUs, hence half of its latency.
    for (const auto& [node, bond] : strung_.to_switch) tie(node, nvswitch, bond, 0.5);
  }

  void tie(int a, int b, const Bond& bond, double share_of_way) {
    const bool reported = bond.generation > 0;
    const int generation = reported ? bond.generation : usual_generation(draft_.machine.nodes[a].compute_major);
    double rate = machine::assumed_rate(LinkKind::nvlink, generation, bond.width);
    // A bridge between GeForce or workstation cards is slower than its generation elsewhere.
    const double payload = payload_share * bond.raw_bytes_per_s * bond.width;
    if (payload > 0) rate = rate > 0 ? std::min(rate, payload) : payload;
    draft_.link({.a = a,
                 .b = b,
                 .kind = LinkKind::nvlink,
                 .width = bond.width,
                 .generation = generation,
                 .bytes_per_s = rate,
                 .latency_s = machine::assumed_latency(LinkKind::nvlink) * share_of_way,
                 .origin = reported ? Origin::reported : Origin::assumed});
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

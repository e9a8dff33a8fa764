#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "importers/join.hpp"
#include "machine/paths.hpp"

namespace peerlane::importers {
namespace {

using machine::Bond;

/// More links than any GPU has: who sums up to more over its peers has a switch before it.
constexpr int most_links = 18;

class Stringer {
 public:
  explicit Stringer(Joining& joining) : joining_(joining), said_(joining.said) {}

  void string() {
    for (const SaidNvlinks& links : said_.nvlinks) follow(links);
    for (const SaidLetters& pair : said_.letters) follow(pair);
    pair_two();
    settle_switches();
    tie_pairs();
    tie_switch();
    report();
  }

 private:
  static std::pair<int, int> key(int a, int b) { return std::minmax(a, b); }

  void follow(const SaidNvlinks& links) {
    const Bond bond{links.up, links.generation, links.raw_bytes_per_s};
    if (links.down > 0) down_[links.gpu] += links.down;
    if (links.up <= 0 || links.gpu < 0) return;
    if (links.raw_bytes_per_s > 0) rates_[links.gpu] = bond;
    switch (links.far_end) {
      case SaidFarEnd::gpu:
        if (links.far_gpu >= 0 && links.far_gpu != links.gpu) between(links.gpu, links.far_gpu, bond);
        break;
      case SaidFarEnd::nvswitch:
        add(to_switch_[links.gpu], bond);
        break;
      case SaidFarEnd::cpu:
        tie_cpu(links.gpu, bond);
        break;
      case SaidFarEnd::unknown:
        add(unnamed_[links.gpu], bond);
        break;
    }
  }

  static void add(Bond& sum, const Bond& bond) {
    sum.width += bond.width;
    sum.generation = std::max(sum.generation, bond.generation);
    sum.raw_bytes_per_s = std::max(sum.raw_bytes_per_s, bond.raw_bytes_per_s);
  }

  /// Each end may name the bond; where both do and differ, what both have is what is there.
  void between(int from, int to, const Bond& bond) { add(seen_[{from, to}], bond); }

  void follow(const SaidLetters& pair) {
    const int width = nvlinks_in(pair.letters);
    if (width == 0) return;
    // Who names far ends has told these links already.
    if (to_switch_.contains(pair.a) || to_switch_.contains(pair.b)) return;
    if (seen_.contains({pair.a, pair.b}) || seen_.contains({pair.b, pair.a})) return;
    lettered_[key(pair.a, pair.b)] = width;
  }

  /// Two GPUs with as many links each, and no other with any: those lead from one to the other.
  void pair_two() {
    if (unnamed_.size() != 2 || !lettered_.empty() || !seen_.empty() || !to_switch_.empty()) return;
    const auto& [a, bond_a] = *unnamed_.begin();
    const auto& [b, bond_b] = *unnamed_.rbegin();
    if (bond_a.width != bond_b.width) return;
    lettered_[key(a, b)] = bond_a.width;
    joining_.draft.note(fmt::format("no file says where the {} NVLinks of {} and of {} lead; no other GPU has any, so they "
                                    "are taken to lead from one to the other",
                                    bond_a.width, place(a), place(b)));
  }

  std::string place(int device) const { return fmt::format("gpu:{}", said_.devices[device].ordinal); }

  /// Letters alone do not tell a board wired pair by pair from one with switches; the sum over the peers, and the count
  /// of a GPU's links, do.
  void settle_switches() {
    std::map<int, int> sums, widest;
    for (const auto& [ends, width] : lettered_) {
      for (const int gpu : {ends.first, ends.second}) {
        sums[gpu] += width;
        widest[gpu] = std::max(widest[gpu], width);
      }
    }
    std::set<int> switched;
    for (const auto& [gpu, sum] : sums) {
      const auto counted = unnamed_.find(gpu);
      const int links = counted != unnamed_.end() ? counted->second.width : most_links;
      if (sum > links && widest[gpu] <= links) switched.insert(gpu);
    }
    for (bool grown = !switched.empty(); grown;) {
      grown = false;
      for (const auto& [ends, width] : lettered_) {
        if (switched.contains(ends.first) != switched.contains(ends.second)) {
          switched.insert({ends.first, ends.second});
          grown = true;
        }
      }
    }
    for (const int gpu : switched) to_switch_[gpu] = rated(gpu, widest[gpu]);
    std::erase_if(lettered_, [&](const auto& entry) { return switched.contains(entry.first.first); });
    for (const auto& [ends, width] : lettered_) between(ends.first, ends.second, rated(ends.first, width));
  }

  Bond rated(int gpu, int width) const {
    const auto known = rates_.find(gpu);
    return known == rates_.end() ? Bond{width, 0, 0} : Bond{width, known->second.generation, known->second.raw_bytes_per_s};
  }

  void tie_pairs() {
    for (const auto& [ends, bond] : seen_) {
      const auto [a, b] = ends;
      const auto back = seen_.find({b, a});
      if (back != seen_.end() && a > b) continue;  // tied from its other end
      Bond both = bond;
      if (back != seen_.end()) both.width = std::min(bond.width, back->second.width);
      if (said_.devices[a].amd || said_.devices[b].amd) {
        joining_.draft.link({.a = node(a), .b = node(b), .kind = LinkKind::xgmi, .width = std::max(both.width, 1)});
      } else {
        tie(a, node(b), both);
      }
    }
    for (const SaidLetters& pair : said_.letters) {
      const bool told = seen_.contains({pair.a, pair.b}) || seen_.contains({pair.b, pair.a});
      if (pair.letters != "XGMI" || told) continue;
      joining_.draft.link({.a = node(pair.a), .b = node(pair.b), .kind = LinkKind::xgmi, .width = 1});
    }
  }

  void tie_switch() {
    if (to_switch_.empty()) return;
    const auto& nodes = joining_.draft.machine.nodes;
    const auto known = std::ranges::find(nodes, NodeKind::nvswitch, &Node::kind);
    // All switches of a board work as one; one node stands for them.
    const int nvswitch = known != nodes.end() ? static_cast<int>(known - nodes.begin())
                                              : joining_.draft.add(NodeKind::nvswitch, "NVSwitch");
    for (const auto& [gpu, bond] : to_switch_) tie(gpu, nvswitch, bond);
  }

  void tie_cpu(int gpu, const Bond& bond) {
    const int generation = bond.generation > 0 ? bond.generation : usual_generation(gpu, bond.width);
    joining_.draft.link({.a = node(gpu),
                         .b = socket_of(joining_, said_.devices[gpu].numa),
                         .kind = LinkKind::c2c,
                         .width = bond.width,
                         .generation = bond.generation,
                         .bytes_per_s = machine::assumed_rate(LinkKind::nvlink, generation, bond.width)});
  }

  void tie(int gpu, int far, const Bond& bond) {
    const bool told = bond.generation > 0 || bond.raw_bytes_per_s > 0;
    if (!told && said_.devices[gpu].compute_major == 0) guessed_ = true;
    joining_.draft.bond(node(gpu), far, bond, usual_generation(gpu, total(gpu)));
  }

  /// Links of a GPU, to all its far ends.
  int total(int gpu) const {
    int sum = 0;
    if (const auto found = to_switch_.find(gpu); found != to_switch_.end()) sum += found->second.width;
    std::map<int, int> widths;
    for (const auto& [ends, bond] : seen_) {
      if (ends.first == gpu) widths[ends.second] = std::max(widths[ends.second], bond.width);
      if (ends.second == gpu) widths[ends.first] = std::max(widths[ends.first], bond.width);
    }
    for (const auto& [peer, width] : widths) sum += width;
    return sum;
  }

  /// Volta has six links, Ampere twelve, Hopper eighteen.
  int usual_generation(int gpu, int links) const {
    const int by_model = machine::usual_nvlink_generation(said_.devices[gpu].compute_major);
    return by_model > 0 ? by_model : links > 12 ? 4 : links > 6 ? 3 : 2;
  }

  void report() {
    if (guessed_) {
      joining_.draft.note(
          "nothing says of which generation the NVLinks are: their rate is assumed from how many a GPU has");
    }
    for (const auto& [gpu, count] : down_) {
      joining_.draft.note(fmt::format("{} has {} NVLink{} that {} not active: not fitted, or by design, or a fault; no "
                                      "file says which",
                                      place(gpu), count, count == 1 ? "" : "s", count == 1 ? "is" : "are"));
    }
    std::vector<std::string> lost;
    for (const auto& [gpu, bond] : unnamed_) {
      if (total(gpu) == 0) lost.push_back(place(gpu));
    }
    if (!lost.empty()) {
      joining_.draft.note("no file says where the active NVLinks of " + peerlane::join(lost) +
                          " lead: `nvidia-smi topo -m` would; they are left out");
    }
  }

  int node(int device) const { return joining_.nodes[device]; }

  Joining& joining_;
  const Said& said_;
  std::map<std::pair<int, int>, Bond> seen_;     // from, to: as the first one sees it
  std::map<std::pair<int, int>, int> lettered_;  // by letters alone
  std::map<int, Bond> to_switch_, unnamed_, rates_;
  std::map<int, int> down_;
  bool guessed_ = false;
};

}  // namespace

int nvlinks_in(std::string_view letters) {
  if (!letters.starts_with("NV")) return 0;
  int count = 0;
  for (const char digit : letters.substr(2)) {
    if (digit < '0' || digit > '9') return 0;
    count = std::min(count * 10 + (digit - '0'), 4096);
  }
  return count;
}

void string_nvlinks(Joining& joining) {
  Stringer(joining).string();
}

}  // namespace peerlane::importers

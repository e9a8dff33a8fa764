#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text.hpp"
#include "importers/join.hpp"

namespace peerlane::importers {
namespace {

/// Sets of devices that certain letters hold together.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int of(int item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void unite(int a, int b) { parent_[std::max(of(a), of(b))] = std::min(of(a), of(b)); }

 private:
  std::vector<int> parent_;
};

/// Devices that are at least as near as `farthest` says, chained.
Groups held_by(const Said& said, std::string_view farthest) {
  constexpr std::string_view near_to_far[] = {"PIX", "PXB", "PHB", "NODE"};
  Groups groups(said.devices.size());
  const auto limit = std::ranges::find(near_to_far, farthest);
  for (const SaidLetters& pair : said.letters) {
    if (std::ranges::find(near_to_far, pair.letters) <= limit && std::ranges::count(near_to_far, pair.letters) > 0) {
      groups.unite(pair.a, pair.b);
    }
  }
  return groups;
}

/// A tree from letters: a PIX group hangs on one switch, the switches of a PXB group on one above them, and a PHB group
/// on one port, which stands for their host bridge.
class Guesser {
 public:
  explicit Guesser(Joining& joining)
      : joining_(joining),
        pix_(held_by(joining.said, "PIX")),
        pxb_(held_by(joining.said, "PXB")),
        phb_(held_by(joining.said, "PHB")) {}

  void guess() {
    count();
    for (const bool gpus : {true, false}) {
      for (std::size_t i = 0; i < joining_.said.devices.size(); ++i) {
        const SaidDevice& device = joining_.said.devices[i];
        if ((device.kind == SaidKind::gpu) == gpus) hang(static_cast<int>(i));
      }
    }
  }

 private:
  void count() {
    for (std::size_t i = 0; i < joining_.said.devices.size(); ++i) {
      const int item = static_cast<int>(i);
      ++members_[pix_.of(item)];
      leaves_[pxb_.of(item)].insert(pix_.of(item));
    }
  }

  void hang(int index) {
    const SaidDevice& device = joining_.said.devices[index];
    const int node = add_device(joining_, index);
    if (device.kind == SaidKind::nvswitch) return;
    plug(joining_, node, above(index), device);
  }

  int above(int index) {
    const int leaf = pix_.of(index), upper = pxb_.of(index);
    const bool has_upper = leaves_[upper].size() > 1;
    if (members_[leaf] == 1 && !has_upper) return port_of(index);
    return switch_of(leaves_of_, leaf, [&] { return has_upper ? upper_of(index) : port_of(index); });
  }

  int upper_of(int index) {
    return switch_of(uppers_, pxb_.of(index), [&] { return port_of(index); });
  }

  template <class Above>
  int switch_of(std::map<int, int>& known, int group, const Above& above) {
    if (const auto found = known.find(group); found != known.end()) return found->second;
    const int over = above();
    const int made = joining_.draft.add(NodeKind::pcie_switch, "");
    SaidDevice bridge;
    bridge.kind = SaidKind::bridge;
    plug(joining_, made, over, bridge);
    return known[group] = made;
  }

  int port_of(int index) {
    const auto [known, is_new] = ports_.emplace(phb_.of(index), -1);
    if (is_new) known->second = add_port(joining_, socket_of(joining_, numa_of_group(index)), "");
    return known->second;
  }

  int numa_of_group(int index) {
    for (std::size_t i = 0; i < joining_.said.devices.size(); ++i) {
      const int numa = joining_.said.devices[i].numa;
      if (numa >= 0 && phb_.of(static_cast<int>(i)) == phb_.of(index)) return numa;
    }
    return -1;
  }

  Joining& joining_;
  Groups pix_, pxb_, phb_;
  std::map<int, int> members_;           // of a PIX group
  std::map<int, std::set<int>> leaves_;  // PIX groups of a PXB group
  std::map<int, int> leaves_of_, uppers_, ports_;
};

}  // namespace

void number_numa(Said& said) {
  Groups near = held_by(said, "NODE");
  std::map<int, int> number;
  std::set<int> taken;
  for (std::size_t i = 0; i < said.devices.size(); ++i) {
    const int numa = said.devices[i].numa;
    if (numa < 0) continue;
    number.emplace(near.of(static_cast<int>(i)), numa);
    taken.insert(numa);
  }
  std::set<int> with_gpus;
  for (std::size_t i = 0; i < said.devices.size(); ++i) {
    if (said.devices[i].kind == SaidKind::gpu) with_gpus.insert(near.of(static_cast<int>(i)));
  }
  // Of two NICs that are both far from the GPUs nobody knows whether they are far from each other.
  std::set<int> apart;
  for (const SaidLetters& pair : said.letters) {
    const int a = near.of(pair.a), b = near.of(pair.b);
    if (pair.letters == "SYS" && a != b && with_gpus.contains(a) && with_gpus.contains(b)) apart.insert({a, b});
  }
  int next = 0, made = 0;
  for (const int group : apart) {
    if (number.contains(group)) continue;
    while (!taken.insert(next).second) ++next;
    number[group] = next;
    ++made;
  }
  for (std::size_t i = 0; i < said.devices.size(); ++i) {
    const auto known = number.find(near.of(static_cast<int>(i)));
    if (said.devices[i].numa < 0 && known != number.end()) said.devices[i].numa = known->second;
  }
  if (made > 0) {
    said.notes.push_back(
        "letters tell that devices stand on different NUMA nodes and nothing numbers those: they are numbered here in "
        "the order of the devices");
  }
}

void guess_tree(Joining& joining) {
  Guesser(joining).guess();
  joining.draft.note(
      "no PCI tree is given: switches and root ports are such as agree with the letters between devices; PCIe "
      "generations and widths are assumed");
}

}  // namespace peerlane::importers

#include "importers/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text.hpp"

namespace peerlane::importers {
namespace {

bool is_gpu(const SaidDevice& device) {
  return device.kind == SaidKind::gpu;
}

std::string name_of(const SaidDevice& device) {
  if (is_gpu(device)) return fmt::format("gpu:{}", device.ordinal);
  return device.name.empty() ? device.pci : device.name;
}

/// Gives every GPU of one file a number: its own, else the next in the order of PCI addresses.
void number_gpus(Said& said) {
  std::vector<SaidDevice*> unnumbered;
  std::set<int> taken;
  for (SaidDevice& device : said.devices) {
    if (!is_gpu(device)) continue;
    if (device.ordinal < 0 || !taken.insert(device.ordinal).second) unnumbered.push_back(&device);
  }
  std::ranges::stable_sort(unnumbered, {}, [](const SaidDevice* gpu) { return gpu->pci; });
  int next = 0;
  for (SaidDevice* gpu : unnumbered) {
    while (taken.contains(next)) ++next;
    gpu->ordinal = next;
    taken.insert(next);
  }
  if (unnumbered.size() > 1) {
    said.notes.push_back(
        fmt::format("{} does not number its GPUs: they are numbered in the order of their PCI addresses", said.source));
  }
}

enum class Likeness { different, same, contradicting };

/// A word that both files have decides; where one of them lacks it, the next word does.
Likeness compare(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return Likeness::different;
  return a == b ? Likeness::same : Likeness::contradicting;
}

/// Is this device of one file that of another?
bool alike(const SaidDevice& known, const SaidDevice& device) {
  if (known.kind == SaidKind::device && !known.pci.empty() && known.pci == device.pci) return true;
  if (known.kind != device.kind) return false;
  // Several ports of one card share its address; their names tell them apart.
  const bool by_name_first = known.kind == SaidKind::nic;
  const Likeness by_name = by_name_first ? compare(known.name, device.name) : Likeness::different;
  if (by_name != Likeness::different) return by_name == Likeness::same;
  if (const Likeness by_pci = compare(known.pci, device.pci); by_pci != Likeness::different) {
    return by_pci == Likeness::same;
  }
  if (const Likeness by_uuid = compare(known.uuid, device.uuid); by_uuid == Likeness::same) return true;
  return device.ordinal >= 0 && known.ordinal == device.ordinal;
}

class Merger {
 public:
  Said merge(std::span<const Said> files) {
    const auto tree = std::ranges::find_if(files, &Said::has_tree);
    if (tree != files.end()) add(*tree);
    for (auto file = files.begin(); file != files.end(); ++file) {
      if (file != tree) add(*file);
    }
    close_gaps();
    return std::move(all_);
  }

 private:
  void add(Said said) {
    number_gpus(said);
    const bool first = all_.source.empty();
    if (first) {
      all_.source = said.source;
      all_.format = said.format;
      all_.has_tree = said.has_tree;
      all_.bridges_are_switches = said.bridges_are_switches;
    }
    source_ = said.source;
    if (all_.driver.empty()) all_.driver = said.driver;
    all_.notes.insert(all_.notes.end(), said.notes.begin(), said.notes.end());
    for (const SaidNode& node : said.nodes) add_node(node);
    std::vector<int> here;
    for (SaidDevice& device : said.devices) here.push_back(add_device(std::move(device), here, first));
    for (SaidLetters letters : said.letters) {
      if (moved(letters.a, here) && moved(letters.b, here)) add_letters(std::move(letters));
    }
    add_nvlinks(said.nvlinks, here);
    for (SaidPeer peer : said.peers) {
      if (moved(peer.from, here) && moved(peer.to, here)) add_peer(std::move(peer));
    }
  }

  /// A device's index here becomes that in the merged list; false where it has none.
  static bool moved(int& index, const std::vector<int>& here) {
    if (index < 0 || index >= std::ssize(here) || here[index] < 0) return false;
    index = here[index];
    return true;
  }

  void disagree(std::string_view about, std::string_view ours, std::string_view theirs) {
    all_.notes.push_back(
        fmt::format("{} says {} of {}, other files say {}; {} is believed", source_, theirs, about, ours, ours));
  }

  template <class T>
  void settle(T& ours, const T& theirs, const T& unknown, const std::string& about, std::string_view what) {
    if (theirs == unknown || ours == theirs) return;
    if (ours == unknown) {
      ours = theirs;
    } else {
      disagree(about, fmt::format("{} {}", what, ours), fmt::format("{} {}", what, theirs));
    }
  }

  void add_node(const SaidNode& node) {
    const auto known = std::ranges::find(all_.nodes, node.number, &SaidNode::number);
    if (known == all_.nodes.end()) return all_.nodes.push_back(node);
    if (known->socket < 0) known->socket = node.socket;
    if (known->memory == 0) known->memory = node.memory;
    if (known->cpus.empty()) known->cpus = node.cpus;
    known->gpu_memory |= node.gpu_memory;
  }

  /// Index in the merged list, -1 for a bridge or the like of a tree that is not the first.
  int add_device(SaidDevice device, const std::vector<int>& here, bool first) {
    if (!moved(device.above, here)) device.above = -1;
    if (!first) {
      for (std::size_t i = 0; i < all_.devices.size(); ++i) {
        if (!alike(all_.devices[i], device)) continue;
        complete(all_.devices[i], device);
        return static_cast<int>(i);
      }
      const bool says_more = device.kind == SaidKind::gpu || device.kind == SaidKind::nic;
      if (!says_more) return -1;
      if (all_.has_tree) {
        all_.notes.push_back(fmt::format("{} names {}, which {} does not: where it hangs is not known", source_,
                                         name_of(device), all_.source));
      }
      device.above = -1;
    }
    all_.devices.push_back(std::move(device));
    return static_cast<int>(all_.devices.size()) - 1;
  }

  void complete(SaidDevice& ours, const SaidDevice& theirs) {
    if (ours.kind == SaidKind::device) {  // a tree without names, completed by a list with them
      ours.kind = theirs.kind;
      ours.ordinal = theirs.ordinal;
    }
    const std::string about = name_of(ours);
    if (!is_gpu(ours) && ours.ordinal < 0) ours.ordinal = theirs.ordinal;
    settle(ours.name, theirs.name, {}, about, "the name");
    settle(ours.uuid, theirs.uuid, {}, about, "the UUID");
    settle(ours.numa, theirs.numa, -1, about, "NUMA node");
    settle(ours.memory_numa, theirs.memory_numa, -1, about, "the memory's NUMA node");
    settle(ours.mig_slices, theirs.mig_slices, 0, about, "MIG slices:");
    if (ours.pci.empty()) ours.pci = theirs.pci;
    if (ours.cpus.empty()) ours.cpus = theirs.cpus;
    if (ours.memory == 0) ours.memory = theirs.memory;
    if (ours.compute_major == 0) {
      ours.compute_major = theirs.compute_major;
      ours.compute_minor = theirs.compute_minor;
    }
    if (ours.pcie.width == 0) ours.pcie = theirs.pcie;
    ours.amd |= theirs.amd;
  }

  std::string names(int a, int b) const {
    return fmt::format("{} and {}", name_of(all_.devices[a]), name_of(all_.devices[b]));
  }

  void add_letters(SaidLetters letters) {
    const auto key = std::minmax(letters.a, letters.b);
    const auto [known, is_new] = letters_.emplace(key, all_.letters.size());
    if (is_new) return all_.letters.push_back(std::move(letters));
    const std::string& ours = all_.letters[known->second].letters;
    if (ours != letters.letters) disagree(names(letters.a, letters.b), ours, letters.letters);
  }

  /// Whoever names the far ends knows more than who only counts links.
  void add_nvlinks(const std::vector<SaidNvlinks>& theirs, const std::vector<int>& here) {
    std::map<int, std::vector<SaidNvlinks>> by_gpu;
    for (SaidNvlinks links : theirs) {
      if (!moved(links.gpu, here)) continue;
      if (!moved(links.far_gpu, here)) links.far_gpu = -1;
      by_gpu[links.gpu].push_back(links);
    }
    for (auto& [gpu, links] : by_gpu) {
      std::vector<SaidNvlinks> ours = taken_from_all(gpu);
      if (!ours.empty()) compare_counts(gpu, ours, links);
      const bool ours_know_more = !ours.empty() && knows_far_ends(ours) >= knows_far_ends(links);
      auto& better = ours_know_more ? ours : links;
      const auto& worse = ours_know_more ? links : ours;
      for (SaidNvlinks& one : better) fill_rates(one, worse);
      all_.nvlinks.insert(all_.nvlinks.end(), better.begin(), better.end());
    }
  }

  std::vector<SaidNvlinks> taken_from_all(int gpu) {
    std::vector<SaidNvlinks> taken;
    std::erase_if(all_.nvlinks, [&](const SaidNvlinks& links) {
      if (links.gpu == gpu) taken.push_back(links);
      return links.gpu == gpu;
    });
    return taken;
  }

  static bool knows_far_ends(const std::vector<SaidNvlinks>& links) {
    return std::ranges::any_of(links, [](const SaidNvlinks& one) { return one.far_end != SaidFarEnd::unknown; });
  }

  static int count_up(const std::vector<SaidNvlinks>& links) {
    return std::accumulate(links.begin(), links.end(), 0, [](int sum, const SaidNvlinks& one) { return sum + one.up; });
  }

  void compare_counts(int gpu, const std::vector<SaidNvlinks>& ours, const std::vector<SaidNvlinks>& theirs) {
    if (count_up(ours) == count_up(theirs)) return;
    disagree(name_of(all_.devices[gpu]), fmt::format("{} active NVLinks", count_up(ours)),
             fmt::format("{} active NVLinks", count_up(theirs)));
  }

  static void fill_rates(SaidNvlinks& links, const std::vector<SaidNvlinks>& others) {
    for (const SaidNvlinks& other : others) {
      if (links.raw_bytes_per_s == 0) links.raw_bytes_per_s = other.raw_bytes_per_s;
      if (links.generation == 0) links.generation = other.generation;
    }
  }

  void add_peer(SaidPeer peer) {
    const auto same = [&](const SaidPeer& other) {
      return other.from == peer.from && other.to == peer.to && other.what == peer.what;
    };
    const auto known = std::ranges::find_if(all_.peers, same);
    if (known == all_.peers.end()) return all_.peers.push_back(std::move(peer));
    if (known->status != peer.status) disagree(names(peer.from, peer.to), known->status, peer.status);
  }

  /// CUDA numbers GPUs from 0 without a gap.
  void close_gaps() {
    std::vector<SaidDevice*> gpus;
    for (SaidDevice& device : all_.devices) {
      if (is_gpu(device)) gpus.push_back(&device);
    }
    std::ranges::stable_sort(gpus, {}, &SaidDevice::ordinal);
    std::vector<std::string> renamed;
    for (int next = 0; SaidDevice * gpu : gpus) {
      if (gpu->ordinal != next) renamed.push_back(fmt::format("GPU {} is gpu:{}", gpu->ordinal, next));
      gpu->ordinal = next++;
    }
    if (!renamed.empty()) {
      all_.notes.push_back(fmt::format("the numbers of GPUs have gaps or repeat, so here {}", peerlane::join(renamed)));
    }
  }

  Said all_;
  std::string source_;
  std::map<std::pair<int, int>, std::size_t> letters_;
};

}  // namespace

Said merge(std::span<const Said> files) {
  return Merger().merge(files);
}

}  // namespace peerlane::importers

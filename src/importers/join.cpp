#include "importers/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "machine/paths.hpp"

namespace peerlane::importers {
namespace {

/// Every answer for one ordered pair, by what was asked.
using Answers = std::map<std::pair<int, int>, std::map<char, std::string>>;

Answers answers_of(const Joining& joining) {
  Answers answers;
  for (const SaidPeer& peer : joining.said.peers) answers[{peer.from, peer.to}][peer.what] = peer.status;
  return answers;
}

std::string ask_the_driver(const Said& said) {
  return fmt::format("{} does not say whether the driver opens peer access here; `nvidia-smi topo -p2p r` would",
                     said.source.empty() ? "the description" : said.source);
}

class PairClaimer {
 public:
  explicit PairClaimer(Joining& joining) : joining_(joining), said_(joining.said), answers_(answers_of(joining)) {}

  void claim() {
    for (const SaidLetters& pair : said_.letters) {
      letters_[{pair.a, pair.b}] = letters_[{pair.b, pair.a}] = pair.letters;
    }
    for (const int from : gpus()) {
      for (const int to : gpus()) {
        if (from != to) joining_.draft.machine.pairs.push_back(pair(from, to));
      }
    }
    claim_nearness();
    note_oddities();
  }

 private:
  /// What a reader of the matrix would stumble over.
  void note_oddities() {
    int hidden = 0;
    for (const SaidLetters& pair : said_.letters) {
      const SaidDevice &a = said_.devices[pair.a], &b = said_.devices[pair.b];
      const bool gpus = a.kind == SaidKind::gpu && b.kind == SaidKind::gpu;
      hidden += gpus && pair.letters == "SYS" && a.numa >= 0 && a.numa == b.numa;
    }
    if (hidden > 0) {
      joining_.draft.note(fmt::format("{} pairs of GPUs read SYS although both stand at the same NUMA node: this looks "
                                      "like a virtualised or hidden PCIe tree",
                                      hidden));
    }
    const auto& near = joining_.draft.machine.near;
    const bool alike = std::ranges::all_of(near, [&](const Nearness& one) { return one.letters == near[0].letters; });
    const bool several = !near.empty() && near.front().nic != near.back().nic && near.back().gpu > 0;
    if (several && alike && near[0].letters == "PHB") {
      joining_.draft.note(
          "all NICs look the same from every GPU (PHB): a virtual machine hides the switches, and which NIC is really "
          "near cannot be told");
    }
  }

  /// Indices into the devices, in the order of the ordinals.
  std::vector<int> gpus() const {
    std::vector<int> found;
    for (std::size_t i = 0; i < said_.devices.size(); ++i) {
      if (said_.devices[i].kind == SaidKind::gpu) found.push_back(static_cast<int>(i));
    }
    std::ranges::sort(found, {}, [&](int index) { return said_.devices[index].ordinal; });
    return found;
  }

  std::string said_letters(int a, int b) const {
    const auto known = letters_.find({a, b});
    return known == letters_.end() ? "" : known->second;
  }

  Pair pair(int from, int to) const {
    const SaidDevice &a = said_.devices[from], &b = said_.devices[to];
    Pair pair{.from = a.ordinal, .to = b.ordinal, .letters = said_letters(from, to), .why_not = ""};
    // A matrix that is cut off leaves pairs of which nothing is said, whatever else the links suggest.
    const bool left_open = pair.letters.empty() && !said_.has_tree && !said_.letters.empty();
    const auto path = left_open ? std::nullopt
                                : machine::nvlink_path(joining_.draft.machine, a.ordinal, b.ordinal);
    if (path) {
      pair.nvlinks = path->kind == LinkKind::nvlink ? path->width : 0;
      if (pair.letters.empty()) pair.letters = path->kind == LinkKind::xgmi ? "XGMI" : fmt::format("NV{}", path->width);
    } else if (pair.letters.empty() && said_.has_tree) {
      pair.letters = machine::pcie_letters(joining_.draft.machine, joining_.nodes[from], joining_.nodes[to]);
    }
    settle_access(pair, from, to, path.has_value());
    return pair;
  }

  void settle_access(Pair& pair, int from, int to, bool linked) const {
    for (const int gpu : {from, to}) {
      if (said_.devices[gpu].mig_slices == 0) continue;
      pair.access = Claim::no;
      pair.why_not = fmt::format("gpu:{} is in MIG mode, in which a GPU reaches no peer and is reached by none",
                                 said_.devices[gpu].ordinal);
      return;
    }
    const auto known = answers_.find({from, to});
    static const std::map<char, std::string> nothing;
    const auto& answers = known == answers_.end() ? nothing : known->second;
    if (const auto atomics = answers.find('a'); atomics != answers.end()) {
      pair.atomics = atomics->second == "OK" ? Claim::yes : Claim::no;
    } else if (linked) {
      pair.atomics = Claim::yes;
    }
    std::string closed;
    bool open = linked;
    for (const auto& [what, status] : answers) {
      if (what == 'a' || (linked && what == 'p')) continue;
      // That a pair has no NVLink does not close PCIe.
      if (status == "OK") open = true;
      if (status != "OK" && what != 'n' && closed.empty()) closed = words_of_status(status);
    }
    pair.access = !closed.empty() ? Claim::no : open ? Claim::yes : Claim::unknown;
    pair.why_not = !closed.empty() ? closed : open ? "" : ask_the_driver(said_);
  }

  /// Letters that a file says stand above those that the tree suggests; without a tree only the file's count.
  void claim_nearness() {
    Machine& machine = joining_.draft.machine;
    machine::claim_nearness(machine);
    if (!said_.has_tree) machine.near.clear();
    for (const SaidLetters& entry : said_.letters) {
      for (const auto& [nic, gpu] : {std::pair(entry.a, entry.b), std::pair(entry.b, entry.a)}) {
        if (said_.devices[nic].kind != SaidKind::nic || said_.devices[gpu].kind != SaidKind::gpu) continue;
        say_near({machine.nodes[joining_.nodes[nic]].index, said_.devices[gpu].ordinal, entry.letters});
      }
    }
    std::ranges::sort(machine.near, {}, [](const Nearness& near) { return std::pair(near.nic, near.gpu); });
  }

  void say_near(const Nearness& said) {
    auto& near = joining_.draft.machine.near;
    const auto known = std::ranges::find_if(
        near, [&](const Nearness& other) { return other.nic == said.nic && other.gpu == said.gpu; });
    if (known == near.end()) return near.push_back(said);
    known->letters = said.letters;
  }

  Joining& joining_;
  const Said& said_;
  Answers answers_;
  std::map<std::pair<int, int>, std::string> letters_;
};

}  // namespace

std::string words_of_status(std::string_view status) {
  static const std::map<std::string_view, std::string_view> words = {
      {"OK", ""},
      {"CNS", "the platform does not support it (nvidia-smi: chipset not supported)"},
      {"GNS", "these GPUs do not support it (nvidia-smi: GPU not supported)"},
      {"TNS", "the GPUs hang where no peer traffic passes between them (nvidia-smi: topology not supported)"},
      {"NS", "the driver does not support it for this pair (nvidia-smi: not supported)"},
      {"DR", "a registry key of the driver switches it off (nvidia-smi: disabled by regkey)"},
      {"U", ""},
  };
  const auto known = words.find(status);
  return known == words.end() ? "" : std::string(known->second);
}

void claim_pairs(Joining& joining) {
  PairClaimer(joining).claim();
}

Machine join(Said said) {
  if (!said.has_tree) number_numa(said);
  Joining joining{said, {}, std::vector<int>(said.devices.size(), -1)};
  Machine& machine = joining.draft.machine;
  machine.name = machine.source = said.source;
  machine.driver = said.driver;
  machine.notes = said.notes;
  place_cpus(joining);
  said.has_tree ? grow_tree(joining) : guess_tree(joining);
  string_nvlinks(joining);
  claim_pairs(joining);
  return std::move(machine);
}

void overlay(Machine& machine, const Said& said) {
  machine.notes.insert(machine.notes.end(), said.notes.begin(), said.notes.end());
  const auto gpu_of = [&](int device) -> Node* {
    const auto node = machine.find(NodeKind::gpu, said.devices[device].ordinal);
    return said.devices[device].kind == SaidKind::gpu && node ? &machine.nodes[*node] : nullptr;
  };
  for (std::size_t i = 0; i < said.devices.size(); ++i) {
    const SaidDevice& device = said.devices[i];
    if (device.kind != SaidKind::gpu) continue;
    Node* gpu = gpu_of(static_cast<int>(i));
    if (gpu == nullptr) {
      machine.notes.push_back(
          fmt::format("{} names gpu:{}, which {} does not have", said.source, device.ordinal, machine.name));
      continue;
    }
    if (device.mig_slices > 0) gpu->mig_slices = device.mig_slices;
    if (gpu->uuid.empty()) gpu->uuid = device.uuid;
    if (gpu->cpus.empty()) gpu->cpus = device.cpus;
  }
  for (const SaidLetters& entry : said.letters) {
    const Node *a = gpu_of(entry.a), *b = gpu_of(entry.b);
    const Pair* known = a != nullptr && b != nullptr ? machine.pair(a->index, b->index) : nullptr;
    if (known == nullptr || known->letters == entry.letters) continue;
    machine.notes.push_back(fmt::format("{} says {} between gpu:{} and gpu:{}, {} says {}; {} is believed", said.source,
                                        entry.letters, a->index, b->index, machine.name, known->letters,
                                        known->letters));
  }
  for (const SaidPeer& peer : said.peers) {
    const Node *from = gpu_of(peer.from), *to = gpu_of(peer.to);
    if (from == nullptr || to == nullptr || peer.what == 'n') continue;
    const auto pair = std::ranges::find_if(
        machine.pairs, [&](const Pair& one) { return one.from == from->index && one.to == to->index; });
    if (pair == machine.pairs.end()) continue;
    const std::string closed = words_of_status(peer.status);
    if (peer.what == 'a') {
      pair->atomics = peer.status == "OK" ? Claim::yes : Claim::no;
    } else if (!closed.empty()) {
      pair->access = Claim::no;
      pair->why_not = closed;
    } else if (peer.status == "OK" && pair->access == Claim::no) {
      machine.notes.push_back(fmt::format("{} says that gpu:{} reaches gpu:{}, {} says that it does not; the latter is "
                                          "believed",
                                          said.source, from->index, to->index, machine.name));
    } else if (peer.status == "OK") {
      pair->access = Claim::yes;
      pair->why_not.clear();
    }
  }
}

}  // namespace peerlane::importers

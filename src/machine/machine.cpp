#include "peerlane/machine.hpp"

#include <algorithm>

#include "machine/words.hpp"

namespace peerlane {

std::string Node::id() const {
  return std::string(machine::word(kind)) + ":" + std::to_string(index);
}

int Machine::gpu_count() const {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.kind == NodeKind::gpu; }));
}

std::optional<int> Machine::find(NodeKind kind, int index) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind == kind && nodes[i].index == index) return static_cast<int>(i);
  }
  return std::nullopt;
}

const Node* Machine::gpu(int ordinal) const {
  const auto at = find(NodeKind::gpu, ordinal);
  return at ? &nodes[*at] : nullptr;
}

const Pair* Machine::pair(int from, int to) const {
  const auto found =
      std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.from == from && pair.to == to; });
  return found == pairs.end() ? nullptr : &*found;
}

std::vector<int> Machine::numa_nodes() const {
  std::vector<int> numbers;
  for (const Node& node : nodes) {
    if (node.kind == NodeKind::numa) numbers.push_back(node.index);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

namespace {

auto distance_of(std::string_view letters) {
  const auto& words = machine::nearness_words;
  return std::find(words.begin(), words.end(), letters) - words.begin();
}

}  // namespace

NearestNics Machine::nearest_nics(int gpu) const {
  NearestNics nearest;
  std::size_t known = 0;
  for (const Nearness& one : near) {
    if (one.gpu != gpu) continue;
    ++known;
    if (nearest.nics.empty() || distance_of(one.letters) < distance_of(nearest.letters)) {
      nearest = {one.letters, {one.nic}};
    } else if (one.letters == nearest.letters) {
      nearest.nics.push_back(one.nic);
    }
  }
  const auto nics = std::count_if(nodes.begin(), nodes.end(), [](auto& node) { return node.kind == NodeKind::nic; });
  if (known != static_cast<std::size_t>(nics)) return {};
  std::sort(nearest.nics.begin(), nearest.nics.end());
  return nearest;
}

}  // namespace peerlane

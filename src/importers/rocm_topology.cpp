#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/square.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view format = "rocm-smi --showtopo";

enum class Section { other, weight, hops, link };

/// "=== Weight between two GPUs ===" above a table.
Section section_above(const std::vector<Line>& lines, std::size_t header) {
  for (std::size_t i = header; i-- > 0;) {
    const std::string& text = lines[i].text;
    if (text.find("Weight between") != std::string::npos) return Section::weight;
    if (text.find("Hops between") != std::string::npos) return Section::hops;
    if (text.find("Link Type between") != std::string::npos) return Section::link;
    if (text.find("====") != std::string::npos) return Section::other;
  }
  return Section::other;
}

/// "GPU[3] : (Topology) Numa Node: 1": number of the GPU and of its node.
std::optional<std::pair<int, int>> numa_line(const Line& line) {
  constexpr std::string_view key = "Numa Node:";
  const std::size_t at = line.text.find(key);
  const std::size_t gpu = line.text.find("GPU[");
  const std::size_t end = line.text.find(']', gpu);
  if (at == std::string::npos || gpu == std::string::npos || end == std::string::npos || end > at) return {};
  const auto words = words_of(std::string_view(line.text).substr(at + key.size()));
  const auto number = number_of(std::string_view(line.text).substr(gpu + 4, end - gpu - 4), most_devices - 1);
  const auto node = words.empty() || !line.ended ? std::nullopt : number_of(words[0], 65535);
  return number && node ? std::optional(std::pair(*number, *node)) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Text& text) : text_(text) {}

  Result<Said> read() {
    const auto lines = PEERLANE_TRY(clean_lines(text_));
    said_.source = text_.source;
    said_.format = format;
    for (auto square = find_square(lines, 0); square; square = find_square(lines, square->end)) take(lines, *square);
    for (const Line& line : lines) {
      if (const auto numa = numa_line(line)) said_.devices[gpu(numa->first)].numa = numa->second;
    }
    if (said_.devices.empty()) return unreadable(text_, 1, 1, "no table of GPUs and no \"Numa Node\" can be read");
    settle();
    const bool cut = !lines.back().ended && std::ranges::any_of(said_.devices, [](const SaidDevice& one) { return one.numa < 0; });
    if (cut) said_.notes.push_back(fmt::format("{}: the text ends in line {}: NUMA nodes are missing", text_.source, lines.back().number));
    return std::move(said_);
  }

 private:
  int gpu(int ordinal) {
    const auto known = std::ranges::find(said_.devices, ordinal, &SaidDevice::ordinal);
    if (known != said_.devices.end()) return static_cast<int>(known - said_.devices.begin());
    said_.devices.push_back(numbered_gpu(ordinal));
    said_.devices.back().amd = true;
    return static_cast<int>(said_.devices.size()) - 1;
  }

  void take(const std::vector<Line>& lines, const Square& square) {
    for (const int ordinal : square.gpus) gpu(ordinal);
    switch (section_above(lines, square.begin)) {
      case Section::weight:
        weights_ = square.cells;
        break;
      case Section::hops:
        hops_ = square.cells;
        break;
      case Section::link:
        links_ = square.cells;
        break;
      case Section::other:
        break;
    }
  }

  void settle() {
    std::map<std::string, int> kinds;
    for (const auto& [ends, link] : links_) {
      const auto [from, to] = ends;
      if (from >= to && links_.contains({to, from})) continue;
      if (from == to) continue;
      const std::string letters = link == "XGMI" ? "XGMI" : letters_over_pcie(ends);
      if (!letters.empty()) said_.letters.push_back({gpu(from), gpu(to), letters});
      ++kinds[fmt::format("{}, weight {}, hops {}", link.substr(0, 16), figure(weights_, ends), figure(hops_, ends))];
    }
    for (const auto& [kind, count] : kinds) {
      said_.notes.push_back(fmt::format("{}: {} pair{} of GPUs: {}", text_.source, count, count == 1 ? "" : "s", kind));
    }
  }

  /// Two hops pass one CPU, and more pass several: what stands between within one CPU is not told.
  std::string letters_over_pcie(std::pair<int, int> ends) const {
    const auto hops = hops_.find(ends);
    const auto count = hops == hops_.end() ? std::nullopt : number_of(hops->second, 1000);
    return count.value_or(0) > 2 ? "SYS" : "";
  }

  static std::string figure(const std::map<std::pair<int, int>, std::string>& cells, std::pair<int, int> ends) {
    const auto known = cells.find(ends);
    return known == cells.end() ? "not known" : known->second.substr(0, 16);
  }

  const Text& text_;
  std::map<std::pair<int, int>, std::string> weights_, hops_, links_;
  Said said_;
};

bool knows(std::string_view text) {
  return text.find("(Topology) Numa") != std::string_view::npos ||
         text.find("Link Type between two GPUs") != std::string_view::npos;
}

Result<Said> read(const Text& text) {
  return Reader(text).read();
}

}  // namespace

Importer rocm_topology() {
  return {format, knows, read};
}

}  // namespace peerlane::importers

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/square.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view format = "nvidia-smi topo -p2p";
constexpr std::array<std::string_view, 7> statuses = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};
constexpr std::string_view questions = "rwnap";

bool is_status(std::string_view word) {
  return std::ranges::find(statuses, word) != statuses.end();
}

/// The letters after "-p2p"; empty where no command line stands above.
std::string asked(const std::vector<Line>& lines, std::size_t before) {
  for (std::size_t i = before; i-- > 0;) {
    const auto words = words_of(lines[i].text);
    const auto flag = std::ranges::find_if(words, [](std::string_view word) { return word == "-p2p" || word == "--p2p"; });
    if (flag == words.end() || flag + 1 == words.end()) continue;
    std::string letters(*(flag + 1));
    const std::size_t end = letters.find_first_not_of(questions);
    return letters.substr(0, end);
  }
  return "";
}

Result<Said> read(const Text& text) {
  const auto lines = PEERLANE_TRY(clean_lines(text));
  Said said;
  said.source = text.source;
  said.format = format;
  for (auto square = find_square(lines, 0); square; square = find_square(lines, square->end)) {
    const bool speaks_of_peers =
        std::ranges::any_of(square->cells, [](const auto& cell) { return is_status(cell.second); });
    if (!speaks_of_peers) continue;
    std::string what = asked(lines, square->begin);
    if (what.empty()) {
      what = "r";
      said.notes.push_back(fmt::format("{}: line {}: which question the matrix answers is not said; it is read as that of "
                                       "reading (topo -p2p r)",
                                       text.source, lines[square->begin].number));
    }
    for (const int gpu : square->gpus) {
      const bool known = std::ranges::count(said.devices, gpu, &SaidDevice::ordinal) > 0;
      if (!known) said.devices.push_back(numbered_gpu(gpu));
    }
    const auto index_of = [&](int gpu) {
      return static_cast<int>(std::ranges::find(said.devices, gpu, &SaidDevice::ordinal) - said.devices.begin());
    };
    for (const auto& [ends, status] : square->cells) {
      const auto [from, to] = ends;
      if (from == to) continue;
      if (!is_status(status)) {
        said.notes.push_back(fmt::format("{}: \"{}\" of GPU{} and GPU{} is no status that is known", text.source,
                                         status.substr(0, 16), from, to));
        continue;
      }
      for (const char letter : what) said.peers.push_back({index_of(from), index_of(to), letter, status});
    }
    const std::size_t expected = square->gpus.size() * square->gpus.size();
    if (square->cells.size() < expected) {
      said.notes.push_back(fmt::format("{}: the matrix is cut off: {} of {} cells are there", text.source,
                                       square->cells.size(), expected));
    }
  }
  if (said.devices.empty()) return unreadable(text, 1, 1, "no matrix of GPUs with OK, CNS, GNS, TNS, NS or DR is here");
  return said;
}

bool knows(std::string_view text) {
  std::size_t from = 0;
  for (std::size_t line_at; (line_at = text.find("GPU", from)) != std::string_view::npos;) {
    const std::string_view line = text.substr(line_at, std::min<std::size_t>(text.find('\n', line_at), text.size()) - line_at);
    from = line_at + std::max<std::size_t>(line.size(), 3);
    if (line.size() > 65536) continue;
    const auto words = words_of(line);
    const bool all_cells = words.size() > 1 && std::all_of(words.begin() + 1, words.end(), [](std::string_view word) {
                             return word == "X" || is_status(word);
                           });
    if (all_cells && std::ranges::any_of(words, is_status)) return true;
  }
  return false;
}

}  // namespace

Importer peer_matrix() {
  return {format, knows, read};
}

}  // namespace peerlane::importers

#include "importers/square.hpp"

#include <algorithm>

namespace peerlane::importers {
namespace {

std::optional<int> gpu_number(std::string_view word) {
  return numbered(word, "GPU", most_devices - 1);
}

std::vector<int> header_of(std::string_view line) {
  std::vector<int> gpus;
  for (const std::string_view word : words_of(line)) {
    const auto number = gpu_number(word);
    if (!number || std::ranges::count(gpus, *number) > 0) return {};
    gpus.push_back(*number);
  }
  return gpus;
}

/// Takes the row in; false where the line is none.
bool take_row(Square& square, const Line& line) {
  const auto words = words_of(line.text);
  const auto number = words.size() < 2 ? std::nullopt : gpu_number(words[0]);
  if (!number || std::ranges::count(square.gpus, *number) == 0) return false;
  for (std::size_t i = 1; i < words.size() && i <= square.gpus.size(); ++i) {
    square.cells.emplace(std::pair(*number, square.gpus[i - 1]), words[i]);
  }
  return true;
}

}  // namespace

std::optional<Square> find_square(const std::vector<Line>& lines, std::size_t from) {
  for (std::size_t begin = from; begin + 1 < lines.size(); ++begin) {
    Square square{begin, begin + 1, header_of(lines[begin].text), {}};
    if (square.gpus.empty()) continue;
    while (square.end < lines.size() && take_row(square, lines[square.end])) ++square.end;
    if (!square.cells.empty()) return square;
  }
  return std::nullopt;
}

SaidDevice numbered_gpu(int ordinal) {
  SaidDevice gpu;
  gpu.ordinal = ordinal;
  return gpu;
}

}  // namespace peerlane::importers

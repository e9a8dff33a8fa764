#pragma once
/// A paste as lines, with what terminals, mail and browsers put around them taken off.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/importer.hpp"

namespace peerlane::importers {

struct Line {
  std::size_t number = 1;  ///< from 1
  std::size_t shift = 0;   ///< bytes that were taken off before `text`
  std::string text;        ///< without its end, without colours and quotes; tabs stand
  bool ended = true;       ///< false: the text stops in this line
};

/// Refuses, naming line and column: NUL bytes, broken UTF-8, a line of more than 64 KiB, more than 100,000 lines.
Result<std::vector<Line>> clean_lines(const Text& text);

/// The words of a line, between white space.
std::vector<std::string_view> words_of(std::string_view line);

/// A number from 0 to `most`, or nothing.
std::optional<int> number_of(std::string_view digits, int most);

/// "GPU12" is 12 where `prefix` is "GPU"; nothing else is anything.
std::optional<int> numbered(std::string_view word, std::string_view prefix, int most);

/// So many of a kind are read; more is no machine.
inline constexpr int most_devices = 1024;

}  // namespace peerlane::importers

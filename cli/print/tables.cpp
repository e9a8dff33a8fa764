#include "tables.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace peerlane::cli {

namespace {

constexpr std::size_t widest_table = 100;
constexpr std::string_view margin = "  ";
constexpr std::string_view itself = "·";

using Cells = std::vector<std::vector<Cell>>;

struct Widths {
  std::size_t name = 0;
  std::size_t letters = 0;
  std::size_t rate = 0;
  std::size_t mark = 0;
};

Widths measure(const std::vector<std::string>& names, const Cells& cells) {
  Widths widths;
  for (const auto& name : names) widths.name = std::max(widths.name, width(name));
  for (const auto& row : cells) {
    for (const auto& cell : row) {
      widths.letters = std::max(widths.letters, width(cell.letters));
      widths.rate = std::max(widths.rate, width(cell.rate));
      widths.mark = std::max(widths.mark, width(cell.mark));
    }
  }
  return widths;
}

std::string figure(const Cell& cell, const Widths& widths) {
  return pad_left(cell.rate, widths.rate) + " " + pad_right(cell.mark, widths.mark);
}

std::string centred(std::string_view text, std::size_t to_width) {
  const std::size_t room = to_width - std::min(to_width, width(text));
  return pad_right(std::string(room / 2, ' ') + std::string(text), to_width);
}

/// One way to lay a matrix out: how wide a column is, and what each line of a row shows of a cell.
struct Layout {
  std::size_t column = 0;
  std::vector<std::string (*)(const Cell&, const Widths&)> lines;
};

Layout on_one_line(const Widths& widths) {
  const auto whole = [](const Cell& cell, const Widths& all) {
    return pad_left(cell.letters, all.letters) + " " + figure(cell, all);
  };
  return {std::max(widths.name, widths.letters + widths.rate + widths.mark + 2), {whole}};
}

Layout on_two_lines(const Widths& widths) {
  // The letters end where the figure below them ends, its mark aside.
  const auto letters = [](const Cell& cell, const Widths& all) {
    return cell.letters + std::string(all.mark > 0 && width(cell.letters) <= all.rate ? all.mark + 1 : 0, ' ');
  };
  return {std::max({widths.name, widths.letters, widths.rate + widths.mark + 1}), {letters, figure}};
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string print(const std::vector<std::string>& names, const Cells& cells, const Widths& widths,
                  const Layout& layout) {
  std::string head = std::string(margin) + std::string(widths.name, ' ');
  for (const auto& name : names) head += std::string(margin) + centred(name, layout.column);
  std::string text = without_trailing_blanks(head);
  for (std::size_t row = 0; row < names.size(); ++row) {
    for (std::size_t part = 0; part < layout.lines.size(); ++part) {
      std::string line = std::string(margin) + pad_right(part == 0 ? names[row] : "", widths.name);
      for (std::size_t column = 0; column < names.size(); ++column) {
        const bool diagonal = row == column;
        const auto shown = layout.lines[part](cells[row][column], widths);
        const auto dot = part == 0 ? itself : std::string_view();
        line += std::string(margin) + (diagonal ? centred(dot, layout.column) : pad_left(shown, layout.column));
      }
      text += without_trailing_blanks(line);
    }
  }
  return text;
}

}  // namespace

std::size_t width(std::string_view text) {
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string pad_left(std::string_view text, std::size_t to_width) {
  return std::string(to_width - std::min(to_width, width(text)), ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t to_width) {
  return std::string(text) + std::string(to_width - std::min(to_width, width(text)), ' ');
}

std::string visible(std::string_view name) {
  const auto quoted = quote(name);
  return quoted.find("\\x") == std::string::npos ? std::string(name) : quoted;
}

std::string matrix(const std::vector<std::string>& names, const Cells& cells) {
  const auto widths = measure(names, cells);
  const auto roomy = on_one_line(widths);
  const std::size_t total = widths.name + margin.size() + names.size() * (roomy.column + margin.size());
  return print(names, cells, widths, total <= widest_table ? roomy : on_two_lines(widths));
}

}  // namespace peerlane::cli

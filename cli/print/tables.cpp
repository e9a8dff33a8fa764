#include "tables.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace peerlane::cli {

namespace {

constexpr std::size_t widest_table = 110;
constexpr std::string_view margin = "  ";
constexpr std::string_view itself = "·";

struct Widths {
  std::size_t head = 0;  ///< of a row
  std::size_t letters = 0;
  std::size_t rate = 0;
  std::size_t mark = 0;
};

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t most = 0;
  for (const auto& text : texts) most = std::max(most, width(text));
  return most;
}

Widths measure(const Table& table) {
  Widths widths;
  widths.head = widest(table.rows);
  for (const auto& row : table.cells) {
    for (const auto& cell : row) {
      widths.letters = std::max(widths.letters, width(cell.letters));
      widths.rate = std::max(widths.rate, width(cell.rate));
      widths.mark = std::max(widths.mark, width(cell.mark));
    }
  }
  return widths;
}

std::string centred(std::string_view text, std::size_t to_width) {
  const std::size_t room = to_width - std::min(to_width, width(text));
  return pad_right(std::string((room + 1) / 2, ' ') + std::string(text), to_width);
}

std::string figure(const Cell& cell, const Widths& widths) {
  return pad_left(cell.rate, widths.rate) + " " + pad_right(cell.mark, widths.mark);
}

std::string whole(const Cell& cell, const Widths& widths) {
  return pad_left(cell.letters, widths.letters) + " " + figure(cell, widths);
}

std::string letters(const Cell& cell, const Widths&) {
  return cell.letters;
}

/// One way to lay a table out: its heads, how wide a column is, what each line of a row shows of a cell.
struct Layout {
  std::string corner;
  std::vector<std::string> heads;
  std::size_t column = 0;
  std::vector<std::string (*)(const Cell&, const Widths&)> lines;

  std::size_t width_after(std::size_t row_head) const {
    return margin.size() + row_head + heads.size() * (margin.size() + column);
  }
};

Layout on_one_line(const Table& table, const Widths& widths) {
  return {"", table.columns, std::max(widest(table.columns), widths.letters + widths.rate + widths.mark + 2), {whole}};
}

Layout on_two_lines(const Table& table, const Widths& widths) {
  auto heads = table.columns;
  for (auto& head : heads) head.erase(0, table.kind.size());
  const auto column = std::max({widest(heads), widths.letters, widths.rate + widths.mark + 1});
  return {table.kind, std::move(heads), column, {letters, figure}};
}

std::string finished(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string head_line(const Layout& layout, const Widths& widths) {
  std::string line = std::string(margin) + pad_right(layout.corner, widths.head);
  for (const auto& head : layout.heads) line += std::string(margin) + centred(head, layout.column);
  return finished(line);
}

std::string print(const Table& table, const Widths& widths, const Layout& layout) {
  std::string text = head_line(layout, widths);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (std::size_t part = 0; part < layout.lines.size(); ++part) {
      std::string line = std::string(margin) + pad_right(part == 0 ? table.rows[row] : "", widths.head);
      for (const auto& cell : table.cells[row]) {
        const auto shown = cell.same ? std::string(part == 0 ? itself : "") : layout.lines[part](cell, widths);
        line += std::string(margin) + (cell.same ? centred(shown, layout.column) : pad_left(shown, layout.column));
      }
      text += finished(line);
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

std::string to_text(const Table& table) {
  const auto widths = measure(table);
  const auto roomy = on_one_line(table, widths);
  const bool fits = roomy.width_after(widths.head) <= widest_table;
  return print(table, widths, fits ? roomy : on_two_lines(table, widths));
}

}  // namespace peerlane::cli

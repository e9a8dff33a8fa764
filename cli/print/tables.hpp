#pragma once
/// Columns of text for a terminal. Widths count characters, not bytes.

#include <string>
#include <string_view>
#include <vector>

namespace peerlane::cli {

/// Characters of a UTF-8 text, none of ours being wider than one cell.
std::size_t width(std::string_view text);
std::string pad_left(std::string_view text, std::size_t to_width);
std::string pad_right(std::string_view text, std::size_t to_width);

/// As a person may see it: a name with control characters or broken UTF-8 in it is quoted, any other stands as it is.
std::string visible(std::string_view name);

/// What stands where a row and a column meet: the letters of the way, the rate, the mark of its standing.
struct Cell {
  std::string letters;
  std::string rate;
  std::string mark;
  bool same = false;  ///< row and column are one place: a dot
};

struct Table {
  std::string kind;  ///< what all columns have before their number, "gpu:"; empty where they differ
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::vector<std::vector<Cell>> cells;
};

/// Cells stand on one line while that fits a terminal, else on two under short heads.
std::string to_text(const Table& table);

}  // namespace peerlane::cli

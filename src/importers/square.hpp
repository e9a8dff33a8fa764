#pragma once
/// A table whose rows and columns are the GPUs, as `topo -p2p` and `rocm-smi --showtopo` print it.

#include <map>
#include <string>
#include <vector>

#include "importers/lines.hpp"

namespace peerlane::importers {

struct Square {
  std::size_t begin = 0;  ///< index of the header's line
  std::size_t end = 0;    ///< index of the line after the last row
  std::vector<int> gpus;  ///< numbers in the header, in its order
  /// Of a row's GPU and a column's GPU. A row that is cut has the cells that are there.
  std::map<std::pair<int, int>, std::string> cells;
};

/// The first such table at or after the line of this index.
std::optional<Square> find_square(const std::vector<Line>& lines, std::size_t from);

/// A GPU with its number.
SaidDevice numbered_gpu(int ordinal);

}  // namespace peerlane::importers

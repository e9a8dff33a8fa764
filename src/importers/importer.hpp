#pragma once
/// An importer reads one kind of file; which kind a text is, its content says.

#include <span>
#include <string>
#include <string_view>

#include "importers/said.hpp"
#include "peerlane/result.hpp"

namespace peerlane::importers {

/// A text with where it came from.
struct Text {
  std::string_view source;  ///< for errors and notes
  std::string_view text;
};

struct Importer {
  std::string_view format;  ///< "nvidia-smi topo -m"
  /// Is this text one of mine? Cheap, never fails, sees any bytes.
  bool (*knows)(std::string_view text);
  /// Reads what is certain and notes what is not. Fails, naming line and column, where nothing of use can be read.
  Result<Said> (*read)(const Text& text);
};

/// All of them; the first one that knows a text reads it.
std::span<const Importer> all_importers();

/// "box.topo.txt:3:17: expected …": an error that names line and column, both from 1; columns count bytes.
tl::unexpected<Error> unreadable(const Text& text, std::size_t line, std::size_t column, std::string sentence);

}  // namespace peerlane::importers

#include "importers/importer.hpp"

#include <fmt/format.h>

namespace peerlane::importers {

tl::unexpected<Error> unreadable(const Text& text, std::size_t line, std::size_t column, std::string sentence) {
  return fail(ErrorKind::invalid_argument, std::move(sentence), fmt::format("{}:{}:{}", text.source, line, column));
}

}  // namespace peerlane::importers

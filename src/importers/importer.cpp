#include "importers/importer.hpp"

#include <fmt/format.h>

#include <array>

#include "importers/formats.hpp"

namespace peerlane::importers {

std::span<const Importer> all_importers() {
  static const std::array importers = {nccl_xml(), topo_matrix(), peer_matrix(), nvlink_status(), lspci(),
                                       gpu_list(), rocm_topology(), address_map()};
  return importers;
}

tl::unexpected<Error> unreadable(const Text& text, std::size_t line, std::size_t column, std::string sentence) {
  return fail(ErrorKind::invalid_argument, std::move(sentence), fmt::format("{}:{}:{}", text.source, line, column));
}

}  // namespace peerlane::importers

#pragma once
/// XML from strangers: small, flat, and without definitions of its own.

#include <cstddef>
#include <pugixml.hpp>

#include "importers/importer.hpp"

namespace peerlane::importers {

/// Parses what is neither too deep nor too long, and defines no entities; each error names line and column.
Result<void> parse_xml(const Text& text, pugi::xml_document& into);

/// An error at the place of an element.
tl::unexpected<Error> unreadable_at(const Text& text, const pugi::xml_node& node, std::string sentence);

/// "00000000,0000ffff" is "0-15"; empty where it is no mask.
std::string cpus_of_mask(std::string_view mask);

/// "16.0 GT/s PCIe", "16 GT/s", "8GT/s" are generations 4, 4, 3; 0 unknown.
int generation_of_speed(std::string_view speed);

}  // namespace peerlane::importers

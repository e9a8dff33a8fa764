#include "importers/xml.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/try.hpp"
#include "importers/lines.hpp"

namespace peerlane::importers {
namespace {

constexpr int deepest = 128;
constexpr int most_elements = 200'000;

struct Position {
  std::size_t line, column;
};

Position position_of(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::size_t line = std::count(text.begin(), text.begin() + offset, '\n') + 1;
  const std::size_t begin = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  return {line, offset - (begin == std::string_view::npos ? 0 : begin + 1) + 1};
}

tl::unexpected<Error> unreadable_there(const Text& text, std::size_t offset, std::string sentence) {
  const Position position = position_of(text.text, offset);
  return unreadable(text, position.line, position.column, std::move(sentence));
}

/// Counts elements and their depth without a stack: pugixml recurses when it frees what it parsed.
Result<void> check_shape(const Text& text) {
  const std::string_view all = text.text;
  int depth = 0, elements = 0;
  for (std::size_t at = all.find('<'); at != std::string_view::npos; at = all.find('<', at)) {
    const std::string_view tag = all.substr(at);
    if (tag.starts_with("<!--")) {
      at = std::min(all.find("-->", at), all.size());
    } else if (tag.starts_with("<!DOCTYPE") || tag.starts_with("<!ENTITY")) {
      const std::size_t end = all.find('>', at);
      const bool defines = tag.substr(0, end == std::string_view::npos ? end : end - at).find('[') != std::string_view::npos;
      if (defines || tag.starts_with("<!ENTITY")) {
        return unreadable_there(text, at, "a document that defines its own entities is not read");
      }
      at = std::min(end, all.size());
    } else if (tag.starts_with("</")) {
      --depth;
      at += 2;
    } else if (tag.starts_with("<?") || tag.starts_with("<!")) {
      at += 2;
    } else {
      const std::size_t end = all.find('>', at);
      const bool closed = end != std::string_view::npos && end > at && all[end - 1] == '/';
      if (!closed && ++depth > deepest) {
        return unreadable_there(text, at, fmt::format("elements nest deeper than {}", deepest));
      }
      if (++elements > most_elements) {
        return unreadable_there(text, at, fmt::format("more than {} elements are not read", most_elements));
      }
      at = std::min(end, all.size());
    }
  }
  return {};
}

}  // namespace

Result<void> parse_xml(const Text& text, pugi::xml_document& into) {
  PEERLANE_TRY(clean_lines(text));
  PEERLANE_TRY(check_shape(text));
  const pugi::xml_parse_result parsed = into.load_buffer(text.text.data(), text.text.size(), pugi::parse_default,
                                                         pugi::encoding_utf8);
  if (parsed) return {};
  return unreadable_there(text, static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)),
                          fmt::format("this is broken XML: {}", parsed.description()));
}

tl::unexpected<Error> unreadable_at(const Text& text, const pugi::xml_node& node, std::string sentence) {
  return unreadable_there(text, static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)),
                          std::move(sentence));
}

std::string cpus_of_mask(std::string_view mask) {
  if (mask.empty() || mask.size() > 4096) return "";
  std::vector<bool> cpus;  // from the last digit
  int digits_of_word = 0;
  for (auto digit = mask.rbegin(); digit != mask.rend(); ++digit) {
    if (*digit == ',') {
      while (digits_of_word++ < 8) cpus.insert(cpus.end(), 4, false);  // a short word begins with zeros
      digits_of_word = 0;
      continue;
    }
    const char lower = static_cast<char>(*digit | 0x20);
    const bool decimal = *digit >= '0' && *digit <= '9';
    if (!decimal && !(lower >= 'a' && lower <= 'f')) return "";
    const int value = decimal ? *digit - '0' : lower - 'a' + 10;
    for (int bit = 0; bit < 4; ++bit) cpus.push_back((value >> bit & 1) != 0);
    ++digits_of_word;
  }
  std::string list;
  for (std::size_t first = 0; first < cpus.size(); ++first) {
    if (!cpus[first]) continue;
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1]) ++last;
    if (!list.empty()) list += ',';
    list += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last;
  }
  return list;
}

int generation_of_speed(std::string_view speed) {
  const std::string figure(speed.substr(0, std::min<std::size_t>(speed.find_first_not_of("0123456789."), 16)));
  if (speed.find("GT/s") == std::string_view::npos && speed != figure) return 0;
  const double transfers = std::strtod(figure.c_str(), nullptr);
  int generation = 1;
  for (const double known : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) {
    if (transfers == known) return generation;
    ++generation;
  }
  return 0;
}

}  // namespace peerlane::importers

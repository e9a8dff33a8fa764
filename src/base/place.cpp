#include "peerlane/place.hpp"

#include <charconv>

#include "base/text.hpp"
#include "base/try.hpp"

namespace peerlane {
namespace {

constexpr std::string_view forms = "a place is gpu:N, host, host:N, mem or file:PATH";

tl::unexpected<Error> not_a_place(std::string_view text, std::string why) {
  return fail(ErrorKind::invalid_argument, std::move(why), "place " + quote(text), std::string(forms));
}

/// A plain decimal number as we print it: no sign, no leading zero.
Result<int> parse_index(std::string_view text, std::string_view digits, std::string_view meaning) {
  int index = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, index);
  const bool plain = error == std::errc() && stop == end && index >= 0 && std::to_string(index) == digits;
  if (!plain) {
    return not_a_place(text, "expected " + std::string(meaning) + " after the colon, got " + quote(digits));
  }
  return index;
}

}  // namespace

std::string to_string(Place place) {
  const std::string index = place.index == Place::any ? "" : ":" + std::to_string(place.index);
  switch (place.kind) {
    case PlaceKind::gpu:
      return "gpu" + index;
    case PlaceKind::host:
      return "host" + index;
    case PlaceKind::mem:
      return "mem";
    case PlaceKind::file:
      return "file";
  }
  return "unknown place";
}

Result<NamedPlace> parse_place(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_tail = colon != std::string_view::npos;
  const std::string_view word = text.substr(0, colon);
  const std::string_view tail = has_tail ? text.substr(colon + 1) : std::string_view();

  if (word == "gpu") {
    if (!has_tail) return not_a_place(text, "which GPU is not said");
    return NamedPlace{gpu(PEERLANE_TRY(parse_index(text, tail, "a GPU's number"))), {}};
  }
  if (word == "host") {
    if (!has_tail) return NamedPlace{host(), {}};
    return NamedPlace{host(PEERLANE_TRY(parse_index(text, tail, "a NUMA node's number"))), {}};
  }
  if (word == "mem") {
    if (has_tail) return not_a_place(text, "mem takes nothing after it");
    return NamedPlace{mem(), {}};
  }
  if (word == "file") {
    if (tail.empty()) return not_a_place(text, "which file is not said");
    if (tail.find('\0') != std::string_view::npos) return not_a_place(text, "a path cannot hold a zero byte");
    return NamedPlace{file(), std::string(tail)};
  }
  return not_a_place(text, text.empty() ? "it is empty" : "no such kind of place");
}

}  // namespace peerlane

#include "base/pci_address.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>

namespace peerlane {
namespace {

std::optional<unsigned> hexadecimal(std::string_view text, unsigned most) {
  if (text.empty() || text.size() > 8) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    const int digit = std::isdigit(static_cast<unsigned char>(c)) ? c - '0'
                      : c >= 'a' && c <= 'f'                      ? c - 'a' + 10
                      : c >= 'A' && c <= 'F'                      ? c - 'A' + 10
                                                                  : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value <= most ? std::optional(value) : std::nullopt;
}

/// The part after the last separator, which is cut off; the whole of `text` where there is none.
std::string_view cut_last(std::string_view& text, char separator) {
  const std::size_t at = text.rfind(separator);
  const std::string_view last = at == std::string_view::npos ? text : text.substr(at + 1);
  text = at == std::string_view::npos ? std::string_view() : text.substr(0, at);
  return last;
}

}  // namespace

std::string pci_address(std::string_view text) {
  const bool has_function = text.find('.') != std::string_view::npos;
  const auto function = has_function ? hexadecimal(cut_last(text, '.'), 7) : std::optional(0u);
  const auto device = hexadecimal(cut_last(text, ':'), 31);
  const auto bus = hexadecimal(cut_last(text, ':'), 255);
  const auto domain = text.empty() ? std::optional(0u) : hexadecimal(text, 0xffffffff);
  if (!function || !device || !bus || !domain) return "";
  char normal[32];
  std::snprintf(normal, sizeof normal, "%04x:%02x:%02x.%x", *domain, *bus, *device, *function);
  return normal;
}

}  // namespace peerlane

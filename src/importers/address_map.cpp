#include <fmt/format.h>

#include <charconv>
#include <map>

#include "base/pci_address.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/lines.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view format = "/proc/iomem";
constexpr Bytes above_32_bits = 1ull << 32;

std::optional<Bytes> hexadecimal(std::string_view digits) {
  Bytes number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return error == std::errc{} && end == digits.data() + digits.size() && !digits.empty() ? std::optional(number)
                                                                                        : std::nullopt;
}

/// "4100000000-43ffffffff : PCI Bus 0000:0a": the bus and the bytes of its window, where that lies above 4 GiB.
std::optional<std::pair<std::string, Bytes>> window_of(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() < 5 || words[1] != ":" || words[2] != "PCI" || words[3] != "Bus") return {};
  const std::size_t dash = words[0].find('-');
  if (dash == std::string_view::npos) return {};
  const auto first = hexadecimal(words[0].substr(0, dash)), last = hexadecimal(words[0].substr(dash + 1));
  if (!first || !last || *last < *first || *first < above_32_bits || *last - *first == ~Bytes{0}) return {};
  return std::pair(std::string(words[4].substr(0, 16)), *last - *first + 1);
}

/// "pcieport 0000:00:1d.4: BAR 15: no space for [mem size 0xc00000000 64bit pref]": the port and the bytes it lacks.
std::optional<std::pair<std::string, Bytes>> no_space_of(std::string_view line) {
  constexpr std::string_view key = "no space for [mem size 0x";
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view size = line.substr(at + key.size());
  const auto bytes = hexadecimal(size.substr(0, size.find_first_of(" ]")));
  for (const std::string_view word : words_of(line.substr(0, at))) {
    const std::string address = pci_address(word.ends_with(':') ? word.substr(0, word.size() - 1) : word);
    if (bytes && !address.empty()) return std::pair(address, *bytes);
  }
  return {};
}

Result<Said> read(const Text& text) {
  const auto lines = PEERLANE_TRY(clean_lines(text));
  Said said;
  said.source = text.source;
  said.format = format;
  std::map<std::string, Bytes> windows, lacking;
  for (const Line& line : lines) {
    if (const auto window = window_of(line.text)) {
      windows[window->first] = std::max(windows[window->first], window->second);
    } else if (const auto lack = no_space_of(line.text)) {
      lacking.insert(*lack);
    }
  }
  if (windows.empty() && lacking.empty()) {
    return unreadable(text, 1, 1, "no window of a PCI bus above 4 GiB and no BAR without space is named here");
  }
  Bytes widest = 0;
  for (const auto& [bus, bytes] : windows) widest = std::max(widest, bytes);
  for (const auto& [bus, bytes] : windows) {
    said.notes.push_back(fmt::format("{}: bus {} has a window of {} above 4 GiB{}", text.source, bus, format_bytes(bytes),
                                     bytes < widest ? ", which is less than its neighbours have: a GPU there may keep a "
                                                      "small BAR1"
                                                    : ""));
  }
  for (const auto& [port, bytes] : lacking) {
    said.notes.push_back(fmt::format("{}: Resizable BAR failed on what hangs behind {}: no address space for {}",
                                     text.source, port, format_bytes(bytes)));
  }
  return said;
}

bool knows(std::string_view text) {
  return text.find(" : PCI Bus ") != std::string_view::npos ||
         text.find("no space for [mem size 0x") != std::string_view::npos;
}

}  // namespace

Importer address_map() {
  return {format, knows, read};
}

}  // namespace peerlane::importers

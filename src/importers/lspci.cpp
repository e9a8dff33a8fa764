#include "importers/lspci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "base/pci_address.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/xml.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view format = "lspci";
constexpr int known_for_nothing = 0x0000;  // a class that moves no bytes of ours

constexpr std::array<std::pair<std::string_view, int>, 10> classes = {{
    {"3D controller", 0x0302},
    {"VGA compatible controller", 0x0300},
    {"Display controller", 0x0380},
    {"Processing accelerators", 0x1200},
    {"Ethernet controller", 0x0200},
    {"Infiniband controller", 0x0207},
    {"Network controller", 0x0280},
    {"Non-Volatile memory controller", 0x0108},
    {"PCI bridge", 0x0604},
    {"Bridge", 0x0680},
}};

std::optional<int> hexadecimal(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || value < 0) return std::nullopt;
  return value;
}

/// 0x0302 of "3D controller [0302]", "3D controller" or "0302".
int class_of(std::string_view words) {
  const std::size_t bracket = words.rfind('[');
  const bool numbered = bracket != std::string_view::npos && words.size() == bracket + 6 && words.back() == ']';
  const std::string_view digits = numbered ? words.substr(bracket + 1, 4) : words;
  if (digits.size() == 4) {
    if (const auto value = hexadecimal(digits)) return *value;
  }
  for (const auto& [name, value] : classes) {
    if (words == name) return value;
  }
  return known_for_nothing;
}

/// 0x10de of "… [10de:20b2] (rev a1)" or "10de:20b2 (rev a1)".
int vendor_of(std::string_view described) {
  if (const std::size_t end = described.find(" ("); end != std::string_view::npos) {
    const std::string_view tail = described.substr(end);
    if (tail.starts_with(" (rev") || tail.starts_with(" (prog-if")) described = described.substr(0, end);
  }
  if (described.ends_with(']')) described.remove_suffix(1);
  if (described.size() < 9 || described[described.size() - 5] != ':') return 0;
  const std::string_view ids = described.substr(described.size() - 9);
  return hexadecimal(ids.substr(5)) ? hexadecimal(ids.substr(0, 4)).value_or(0) : 0;
}

/// "01:00.0" and the like, which have a function: without one it may be a time of day.
std::string address_at_begin(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  if (word.size() < 7 || word.size() > 16 || word[word.size() - 2] != '.') return "";
  return pci_address(word);
}

std::optional<PciFunction> function_line(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  PciFunction function;
  function.device.pci = address_at_begin(line);
  const std::size_t space = line.find(' '), colon = line.find(": ");
  if (function.device.pci.empty() || space == std::string_view::npos || colon == std::string_view::npos) return {};
  if (colon < space) return {};
  function.class_id = class_of(line.substr(space + 1, colon - space - 1));
  function.described = line.substr(colon + 2);
  function.vendor_id = vendor_of(function.described);
  function.virtual_function = function.described.find("Virtual Function") != std::string::npos;
  return function;
}

/// What stands between `before` and the next comma, space or end.
std::string_view value_after(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + before.size());
  return rest.substr(0, rest.find_first_of(", \t"));
}

void read_link(std::string_view line, int& generation, int& width) {
  generation = generation_of_speed(value_after(line, "Speed "));
  const std::string_view lanes = value_after(line, "Width x");
  width = number_of(lanes, 32).value_or(0);
}

void read_detail(std::string_view line, PciFunction& function) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return;
  line.remove_prefix(begin);
  SaidPcie& pcie = function.device.pcie;
  if (line.starts_with("NUMA node: ")) function.device.numa = number_of(value_after(line, "node: "), 65535).value_or(-1);
  if (line.starts_with("Bus: ")) function.secondary = hexadecimal(value_after(line, "secondary=")).value_or(-1);
  if (line.starts_with("LnkCap:")) read_link(line, pcie.generation, pcie.width);
  if (line.starts_with("LnkSta:")) read_link(line, pcie.generation_now, pcie.width_now);
  if (line.find("Express") != std::string_view::npos && line.starts_with("Capabilities:")) {
    const bool root = line.find("Root Port") != std::string_view::npos;
    function.link_is_below = root || line.find("Downstream Port") != std::string_view::npos;
    if (root && function.class_id == 0x0604) function.device.kind = SaidKind::root_port;
  }
  if (line.starts_with("ACSCtl:")) {
    function.redirects = line.find("ReqRedir+") != std::string_view::npos ||
                         line.find("CmpltRedir+") != std::string_view::npos;
  }
}

/// What both forms say of the same functions; the tree's order stands.
Ancestry combine(std::vector<PciFunction>& list, PciTree tree) {
  const bool has_buses = std::ranges::any_of(list, [](const PciFunction& function) { return function.secondary >= 0; });
  if (tree.functions.empty()) return has_buses ? Ancestry::by_bus : Ancestry::unknown;
  std::map<std::string, const PciFunction*> listed;
  for (const PciFunction& function : list) listed.emplace(function.device.pci, &function);
  std::set<std::string> drawn;
  for (PciFunction& function : tree.functions) {
    drawn.insert(function.device.pci);
    const auto known = listed.find(function.device.pci);
    if (known == listed.end()) continue;
    const int above = function.device.above;
    const SaidKind kind = function.device.kind;
    function = *known->second;
    function.device.above = above;
    if (kind == SaidKind::bridge) function.device.kind = kind;
  }
  for (PciFunction& function : list) {
    if (!drawn.contains(function.device.pci)) tree.functions.push_back(std::move(function));
  }
  list = std::move(tree.functions);
  return Ancestry::by_index;
}

/// A GPU of a desktop has its audio beside it; more than a hint this is not.
void note_nameless(Said& said) {
  std::map<std::string, int> functions;
  for (const SaidDevice& device : said.devices) {
    if (device.kind == SaidKind::device) ++functions[device.pci.substr(0, device.pci.size() - 2)];
  }
  if (functions.empty()) return;
  std::vector<std::string> like_gpus;
  for (const auto& [slot, count] : functions) {
    if (count == 2) like_gpus.push_back(slot);
  }
  said.notes.push_back(fmt::format("{}: this tree has no names, so nobody can say which of its devices are GPUs; add the "
                                   "output of `lspci -nn`{}",
                                   said.source,
                                   like_gpus.empty() ? "" : " (two functions, as a GPU and its audio have: " +
                                                                peerlane::join(like_gpus) + ")"));
}

bool knows(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, std::min<std::size_t>(end, 4096));
    if (line.find("-[") != std::string_view::npos && line.find("]-") != std::string_view::npos) return true;
    const std::size_t begin = line.find_first_not_of("> \t");
    if (begin != std::string_view::npos && function_line(line.substr(begin))) return true;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return false;
}

Result<Said> read(const Text& text) {
  const std::vector<Line> lines = PEERLANE_TRY(clean_lines(text));
  std::vector<PciFunction> functions = read_pci_list(lines);
  PciTree tree = read_pci_tree(lines);
  if (functions.size() + tree.functions.size() > 64u * most_devices) {
    return unreadable(text, 1, 1, fmt::format("more than {} PCI functions are no machine", 64 * most_devices));
  }
  if (functions.empty() && tree.functions.empty()) {
    return unreadable(text, 1, 1, "no line of this names a PCI function; expected \"01:00.0 3D controller: …\"");
  }
  Said said;
  said.source = text.source;
  said.format = format;
  said.notes = tree.notes;
  for (std::string& note : said.notes) note = fmt::format("{}: {}", text.source, note);
  const Ancestry ancestry = combine(functions, std::move(tree));
  add_functions(said, std::move(functions), ancestry);
  if (ancestry == Ancestry::unknown) {
    said.notes.push_back(said.source + ": a list without bridges: which devices share a switch is not known");
  }
  note_nameless(said);
  return said;
}

}  // namespace

std::vector<PciFunction> read_pci_list(const std::vector<Line>& lines) {
  std::vector<PciFunction> functions;
  for (const Line& line : lines) {
    if (auto function = function_line(line.text)) {
      functions.push_back(std::move(*function));
    } else if (!functions.empty()) {
      read_detail(line.text, functions.back());
    }
  }
  return functions;
}

Importer lspci() {
  return {format, knows, read};
}

}  // namespace peerlane::importers

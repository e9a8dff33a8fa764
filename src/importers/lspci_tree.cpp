#include <fmt/format.h>

#include <cctype>

#include "base/pci_address.hpp"
#include "importers/lspci.hpp"

namespace peerlane::importers {
namespace {

/// A bus whose devices are drawn one below the other, their marks in one column.
struct OpenBus {
  std::size_t column = 0;
  std::string bus;  ///< "0000:1b"; empty: the list of all roots
  int bridge = -1;  ///< index of the bridge above
};

bool is_hexadecimal(std::string_view text) {
  for (const char digit : text) {
    if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) return false;
  }
  return !text.empty();
}

class Drawing {
 public:
  PciTree read(const std::vector<Line>& lines) {
    for (const Line& line : lines) read_line(line);
    return std::move(tree_);
  }

 private:
  void read_line(const Line& line) {
    text_ = line.text;
    at_ = text_.find_first_not_of(" |");
    if (at_ == std::string::npos) return;
    const bool first = text_[at_] == '-' && (text_.compare(at_, 2, "-[") == 0 || text_.compare(at_, 4, "-+-[") == 0);
    if (first) {
      open_.clear();
      ++at_;
      if (text_[at_] == '+') open_.push_back({at_, "", -1});
      if (text_[at_] == '+') ++at_;
      follow(line, "", -1);
      return;
    }
    if (text_[at_] != '+' && text_[at_] != '\\') return;
    while (!open_.empty() && open_.back().column > at_) open_.pop_back();
    if (open_.empty() || open_.back().column != at_) return;
    const OpenBus bus = open_.back();
    ++at_;
    follow(line, bus.bus, bus.bridge);
  }

  /// Along a line: dashes, a bus in brackets or a device, and what hangs below it.
  void follow(const Line& line, std::string bus, int bridge) {
    while (true) {
      while (at_ < text_.size() && text_[at_] == '-') ++at_;
      if (at_ >= text_.size()) return;
      if (text_[at_] == '[') {
        bus = read_bus(bus);
        if (bus.empty()) return cut(line);
      } else if (text_[at_] == '+' || text_[at_] == '\\') {
        open_.push_back({at_++, bus, bridge});
      } else {
        bridge = read_device(line, bus, bridge);
        if (bridge < 0) return;
      }
    }
  }

  /// "[0000:17-1c]" or "[17]": the bus that begins below.
  std::string read_bus(const std::string& above) {
    const std::size_t close = text_.find(']', at_);
    if (close == std::string::npos) return "";
    std::string_view inside = std::string_view(text_).substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    std::string domain = above.empty() ? "0000" : above.substr(0, above.find(':'));
    if (const std::size_t colon = inside.find(':'); colon != std::string_view::npos) {
      domain = inside.substr(0, colon);
      inside.remove_prefix(colon + 1);
    }
    const std::string_view number = inside.substr(0, inside.find('-'));
    if (number.size() != 2 || !is_hexadecimal(number) || !is_hexadecimal(domain)) return "";
    return fmt::format("{}:{}", domain, number);
  }

  /// "01.1" and the name behind it. The index of a bridge with something below it, else -1.
  int read_device(const Line& line, const std::string& bus, int bridge) {
    const std::string_view word = std::string_view(text_).substr(at_, 4);
    const std::string pci = word.size() == 4 ? pci_address(fmt::format("{}:{}", bus, word)) : "";
    if (pci.empty()) return cut(line), -1;
    at_ += 4;
    PciFunction function;
    function.device.kind = SaidKind::device;
    function.device.pci = pci;
    function.device.above = bridge;
    const bool is_bridge = at_ + 1 < text_.size() && text_.compare(at_, 2, "-[") == 0;
    if (is_bridge) function.device.kind = SaidKind::bridge;
    if (!is_bridge && at_ < text_.size()) describe(function);
    if (!line.ended && !is_bridge) cut(line);
    tree_.functions.push_back(std::move(function));
    return is_bridge ? static_cast<int>(tree_.functions.size()) - 1 : -1;
  }

  void describe(PciFunction& function) {
    const std::size_t begin = text_.find_first_not_of(" \t", at_);
    if (begin == std::string::npos) return;
    function.described = text_.substr(begin);
    function.virtual_function = function.described.find("Virtual Function") != std::string::npos;
    at_ = text_.size();
  }

  void cut(const Line& line) {
    tree_.notes.push_back(fmt::format("line {} of the tree is cut: what hangs there is not known", line.number));
  }

  PciTree tree_;
  std::vector<OpenBus> open_;
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

PciTree read_pci_tree(const std::vector<Line>& lines) {
  PciTree tree = Drawing().read(lines);
  if (!tree.functions.empty() && !lines.back().ended && tree.notes.empty() &&
      lines.back().text.find_first_of("|+\\") != std::string::npos) {
    tree.notes.push_back("the tree is cut: what follows is not known");
  }
  return tree;
}

}  // namespace peerlane::importers

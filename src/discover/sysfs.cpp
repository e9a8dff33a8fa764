#include "discover/sysfs.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace peerlane::discover {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// 0 where it is unknown; the kernel then says 0 or 255.
int pcie_width(const std::string& text) {
  const long width = std::strtol(text.c_str(), nullptr, 10);
  return width > 0 && width <= 32 ? static_cast<int>(width) : 0;
}

bool is_version(const std::string& word) {
  return word.find('.') != std::string::npos &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
}

}  // namespace

int pcie_generation(std::string_view speed) {
  constexpr double gigatransfers[] = {2.5, 5, 8, 16, 32, 64};
  const double found = std::strtod(std::string(speed).c_str(), nullptr);
  for (std::size_t i = 0; i < std::size(gigatransfers); ++i) {
    if (std::abs(found - gigatransfers[i]) < 0.1) return static_cast<int>(i) + 1;
  }
  return 0;
}

PcieFacts pcie_facts(const std::string& sysfs, const std::string& pci) {
  const std::string folder = sysfs + "/bus/pci/devices/" + pci + "/";
  return {pcie_generation(first_line(folder + "max_link_speed")), pcie_width(first_line(folder + "max_link_width")),
          pcie_generation(first_line(folder + "current_link_speed")),
          pcie_width(first_line(folder + "current_link_width"))};
}

std::string kernel_module_version(const std::string& procfs) {
  std::istringstream words(first_line(procfs + "/driver/nvidia/version"));
  for (std::string word; words >> word;) {
    if (is_version(word)) return word;
  }
  return "";
}

}  // namespace peerlane::discover

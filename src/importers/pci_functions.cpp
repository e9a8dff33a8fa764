#include "importers/pci_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace peerlane::importers {
namespace {

constexpr int nvidia = 0x10de, amd = 0x1002;
constexpr int nvme = 0x0108, bridge_class = 0x0604, other_bridge = 0x0680;
constexpr int deepest = 64;
constexpr int network = 0x02, display = 0x03, accelerator = 0x12;

bool says_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool of_nvidia(int vendor_id, std::string_view described) {
  return vendor_id == nvidia || (vendor_id == 0 && says_any(described, {"NVIDIA", "nVidia"}));
}

/// "AMD/ATI" is the vendor of the GPUs; "AMD" alone that of the CPUs and their bridges.
bool of_amd_gpus(int vendor_id, std::string_view described) {
  return vendor_id == amd || (vendor_id == 0 && says_any(described, {"AMD/ATI", "ATI Technologies"}));
}

std::optional<SaidKind> kind_by_class(int class_id, bool by_nvidia, bool by_amd, std::string_view described) {
  const int base = class_id >> 8;
  if (class_id == bridge_class) return SaidKind::bridge;
  if (class_id == other_bridge && by_nvidia) return SaidKind::nvswitch;
  if (class_id == nvme) return SaidKind::drive;
  if (base == network) return SaidKind::nic;
  // The VGA of a board's management controller computes nothing; ES1000 is one that AMD made.
  const bool computes = by_nvidia || (by_amd && !says_any(described, {"ES1000"}));
  if ((base == display || (base == accelerator && by_amd)) && computes) return SaidKind::gpu;
  return std::nullopt;
}

/// `lspci -tv` prints names and no classes.
std::optional<SaidKind> kind_by_name(std::string_view described, bool by_nvidia, bool by_amd) {
  if (says_any(described, {"Audio", "USB", "UCSI", "Serial", "I2C"})) return std::nullopt;
  if (says_any(described, {"Upstream Port", "Downstream Port", "PCI bridge", "PCI Express Switch", "Root Port"})) {
    return SaidKind::bridge;
  }
  if (by_nvidia) return says_any(described, {"NVSwitch"}) ? SaidKind::nvswitch : SaidKind::gpu;
  if (by_amd) return SaidKind::gpu;
  if (says_any(described, {"SoC Management", "DMA"})) return std::nullopt;
  if (says_any(described, {"Ethernet", "ConnectX", "nfini", "BlueField", "Elastic Fabric", "Elastic Network",
                           "Omni-Path", "NetXtreme", "Network"})) {
    return SaidKind::nic;
  }
  if (says_any(described, {"NVMe", "Non-Volatile", "NVM "})) return SaidKind::drive;
  return std::nullopt;
}

std::optional<SaidKind> decide(const PciFunction& function) {
  const SaidKind said = function.device.kind;
  if (said == SaidKind::bridge || said == SaidKind::root_port || said == SaidKind::host_bridge) return said;
  if (said == SaidKind::gpu && function.class_id < 0) return said;
  const bool by_nvidia = of_nvidia(function.vendor_id, function.described);
  const bool by_amd = of_amd_gpus(function.vendor_id, function.described);
  if (function.class_id >= 0) return kind_by_class(function.class_id, by_nvidia, by_amd, function.described);
  if (function.described.empty()) return function.device.above >= 0 ? std::optional(SaidKind::device) : std::nullopt;
  return kind_by_name(function.described, by_nvidia, by_amd);
}

/// "0000:1b", the domain and the bus.
std::string bus_of(const std::string& pci) {
  return pci.substr(0, 7);
}

class Adder {
 public:
  Adder(Said& said, std::vector<PciFunction> functions) : said_(said), functions_(std::move(functions)) {}

  void add(Ancestry ancestry) {
    if (ancestry == Ancestry::by_bus) find_bridges();
    decide_kinds();
    collapse_virtual();
    said_.has_tree = ancestry != Ancestry::unknown;
    note_redirects();
    for (std::size_t i = 0; i < functions_.size(); ++i) settle_link(functions_[i]);
    keep_what_matters();
  }

 private:
  /// A bus is below the bridge that calls it secondary. Bridges get before what hangs on them.
  void find_bridges() {
    std::ranges::stable_sort(functions_, {}, [](const PciFunction& function) { return function.device.pci; });
    std::map<std::string, int> bridges;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      PciFunction& function = functions_[i];
      const std::string bus = bus_of(function.device.pci);
      const auto bridge = bridges.find(bus);
      function.device.above = bridge == bridges.end() ? -1 : bridge->second;
      if (function.secondary < 0) continue;
      bridges.emplace(fmt::format("{}:{:02x}", function.device.pci.substr(0, 4), function.secondary), static_cast<int>(i));
    }
  }

  void decide_kinds() {
    for (PciFunction& function : functions_) {
      const auto kind = decide(function);
      matters_.push_back(kind.has_value());
      if (!kind) continue;
      function.device.kind = *kind;
      const bool bridge = *kind == SaidKind::bridge || *kind == SaidKind::root_port || *kind == SaidKind::host_bridge;
      if (bridge) matters_.back() = false;  // only with something below it
      if (*kind == SaidKind::gpu) function.device.amd |= of_amd_gpus(function.vendor_id, function.described);
    }
  }

  /// Beside its physical function, which has the same bridge above it, a virtual one adds no road.
  void collapse_virtual() {
    std::set<int> physical;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const SaidDevice& device = functions_[i].device;
      if (matters_[i] && device.kind == SaidKind::nic && !functions_[i].virtual_function) physical.insert(device.above);
    }
    int collapsed = 0;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const SaidDevice& device = functions_[i].device;
      const bool beside = functions_[i].virtual_function && physical.contains(device.above) && device.above >= 0;
      if (!matters_[i] || device.kind != SaidKind::nic || !beside) continue;
      matters_[i] = false;
      ++collapsed;
    }
    if (collapsed > 0) {
      said_.notes.push_back(fmt::format("{}: {} virtual functions of NICs are left out: their NICs are there",
                                        said_.source, collapsed));
    }
  }

  /// ACS on a bridge with neither GPUs nor NICs below it harms nothing.
  void note_redirects() {
    std::set<int> noted;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const SaidKind kind = functions_[i].device.kind;
      if (!matters_[i] || (kind != SaidKind::gpu && kind != SaidKind::nic)) continue;
      for (int at = functions_[i].device.above, steps = 0; at >= 0 && steps < deepest; ++steps) {
        const PciFunction& bridge = functions_[at];
        if (bridge.redirects && noted.insert(at).second) {
          said_.notes.push_back(fmt::format("{}: ACS at {} sends what comes from {} up to the root complex: peers below "
                                            "one switch do not meet in it",
                                            said_.source, bridge.device.pci, functions_[i].device.pci));
        }
        at = bridge.device.above;
      }
    }
  }

  /// A link does what both its ends can.
  void settle_link(PciFunction& function) {
    SaidPcie& link = function.device.pcie;
    const int above = function.device.above;
    if (above >= 0 && functions_[above].link_is_below) {
      const SaidPcie& port = functions_[above].device.pcie;
      if (port.generation > 0) link.generation = std::min(link.generation, port.generation);
      if (port.width > 0) link.width = std::min(link.width, port.width);
    }
    const bool slower = link.generation_now > 0 && link.generation_now < link.generation;
    const bool narrower = link.width_now > 0 && link.width_now < link.width;
    if (!(slower || narrower) || function.link_is_below) return;
    said_.notes.push_back(fmt::format("{}: the link of {} ran at PCIe {} ×{} where both ends can do PCIe {} ×{}; idle GPUs "
                                      "do so, others should not",
                                      said_.source, function.device.pci, link.generation_now, link.width_now,
                                      link.generation, link.width));
  }

  void keep_what_matters() {
    for (std::size_t i = functions_.size(); i-- > 0;) {
      const int above = functions_[i].device.above;
      if (matters_[i] && above >= 0 && above < static_cast<int>(i)) matters_[above] = true;
    }
    std::vector<int> moved(functions_.size(), -1);
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (!matters_[i]) continue;
      SaidDevice device = std::move(functions_[i].device);
      const bool known = device.above >= 0 && device.above < static_cast<int>(i);
      device.above = known ? moved[device.above] : -1;
      if (device.name.empty()) device.name = short_name(functions_[i].described);
      moved[i] = static_cast<int>(said_.devices.size());
      said_.devices.push_back(std::move(device));
    }
  }

  Said& said_;
  std::vector<PciFunction> functions_;
  std::vector<bool> matters_;
};

}  // namespace

void add_functions(Said& said, std::vector<PciFunction> functions, Ancestry ancestry) {
  Adder(said, std::move(functions)).add(ancestry);
}

std::string short_name(std::string_view described) {
  std::string name(described.substr(0, described.find(" (rev ")));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> shorter = {
      {{"NVIDIA Corporation", "NVIDIA"}, {"Advanced Micro Devices, Inc. [AMD/ATI]", "AMD"}, {"Mellanox Technologies", "Mellanox"}}};
  for (const auto& [vendor, word] : shorter) {
    if (name.starts_with(vendor)) name.replace(0, vendor.size(), word);
  }
  // "[10de:20b2]", which `-nn` adds, says the same in numbers.
  const std::size_t ids = name.rfind(" [");
  if (ids != std::string::npos && name.size() - ids == 12 && name[ids + 6] == ':') name.resize(ids);
  return name;
}

}  // namespace peerlane::importers

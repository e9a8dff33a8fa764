#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/pci_address.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/lines.hpp"
#include "importers/xml.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view format = "NCCL's topology XML";
constexpr int most_links = 4096;

std::string_view attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

/// A whole number from 0 to `most`; -1 where there is none or the file says "-1"; else an error.
Result<int> number(const Text& text, const pugi::xml_node& node, const char* name, int most) {
  const std::string_view words = attribute(node, name);
  if (words.empty() || words == "-1") return -1;
  if (const auto value = number_of(words, most)) return *value;
  return unreadable_at(text, node, fmt::format("{} of <{}>: expected a whole number from 0 to {}, got {}", name,
                                               node.name(), most, quote(words)));
}

/// "0x060400": a bridge. The first four digits tell.
SaidKind kind_of_class(std::string_view words) {
  const std::string_view four = words.starts_with("0x") ? words.substr(2, 4) : words.substr(0, 4);
  if (four == "0604") return SaidKind::bridge;
  if (four == "0302" || four == "0300" || four == "0380" || four == "1200") return SaidKind::gpu;
  if (four == "0200" || four == "0207" || four == "0280") return SaidKind::nic;
  if (four == "0108") return SaidKind::drive;
  if (four == "0680") return SaidKind::nvswitch;
  return SaidKind::device;
}

class Reader {
 public:
  explicit Reader(const Text& text) : text_(text) {}

  Result<Said> read() {
    pugi::xml_document document;
    PEERLANE_TRY(parse_xml(text_, document));
    said_.source = text_.source;
    said_.format = format;
    said_.has_tree = true;
    said_.bridges_are_switches = true;
    const pugi::xml_node system = document.child("system");
    if (!system) return unreadable(text_, 1, 1, "expected the element <system>");
    for (const pugi::xml_node cpu : system.children("cpu")) PEERLANE_TRY(read_cpu(cpu));
    if (said_.devices.empty() && said_.nodes.empty()) {
      return unreadable_at(text_, system, "<system> holds no <cpu>, so no machine");
    }
    for (const auto& [gpu, element] : gpus_) PEERLANE_TRY(read_links(gpu, element));
    return std::move(said_);
  }

 private:
  Result<void> read_cpu(const pugi::xml_node& cpu) {
    SaidNode node;
    node.number = PEERLANE_TRY(number(text_, cpu, "numaid", 65535));
    node.cpus = cpus_of_mask(attribute(cpu, "affinity"));
    if (node.number >= 0) {
      if (std::ranges::count(said_.nodes, node.number, &SaidNode::number) > 0) {
        return unreadable_at(text_, cpu, fmt::format("NUMA node {} comes a second time", node.number));
      }
      said_.nodes.push_back(node);
    }
    for (const pugi::xml_node pci : cpu.children("pci")) PEERLANE_TRY(read_pci(pci, -1, node.number));
    if (!cpu.child("nic")) return {};
    SaidDevice card;  // of a virtual machine: no PCI address, straight at the CPU
    card.kind = SaidKind::nic;
    card.numa = node.number;
    return add_nics(card, cpu);
  }

  Result<void> read_pci(const pugi::xml_node& pci, int above, int numa) {
    SaidDevice device;
    const std::string_view address = attribute(pci, "busid");
    device.pci = pci_address(address);
    if (device.pci.empty()) {
      return unreadable_at(text_, pci, "busid of <pci>: expected a PCI address, got " + quote(address));
    }
    device.kind = kind_of(pci);
    device.above = above;
    device.numa = numa;
    device.pcie.generation = generation_of_speed(attribute(pci, "link_speed"));
    device.pcie.width = std::max(PEERLANE_TRY(number(text_, pci, "link_width", 64)), 0);
    if (said_.devices.size() >= 8 * most_devices) return unreadable_at(text_, pci, "too many devices for one machine");
    if (device.kind == SaidKind::gpu) return add_gpu(std::move(device), pci);
    if (device.kind == SaidKind::nic) return add_nics(std::move(device), pci);
    said_.devices.push_back(std::move(device));
    const int self = static_cast<int>(said_.devices.size()) - 1;
    for (const pugi::xml_node below : pci.children("pci")) PEERLANE_TRY(read_pci(below, self, numa));
    return {};
  }

  static SaidKind kind_of(const pugi::xml_node& pci) {
    if (pci.child("gpu")) return SaidKind::gpu;
    if (pci.child("nic")) return SaidKind::nic;
    if (pci.child("pci")) return SaidKind::bridge;
    return kind_of_class(attribute(pci, "class"));
  }

  Result<void> add_gpu(SaidDevice device, const pugi::xml_node& pci) {
    const pugi::xml_node gpu = pci.child("gpu");
    device.ordinal = PEERLANE_TRY(number(text_, gpu, "dev", most_devices - 1));
    device.amd = !attribute(gpu, "gcn").empty() || gpu.child("xgmi") || attribute(pci, "vendor") == "0x1002";
    const int sm = PEERLANE_TRY(number(text_, gpu, "sm", 65535));
    if (!device.amd && sm >= 10 && sm < 1000) {  // RCCL counts compute units there
      device.compute_major = sm / 10;
      device.compute_minor = sm % 10;
    }
    by_address_[device.pci] = static_cast<int>(said_.devices.size());
    gpus_.emplace_back(static_cast<int>(said_.devices.size()), gpu);
    said_.devices.push_back(std::move(device));
    return {};
  }

  /// A card with several ports is a NIC for each: they have an address in common, and a link.
  Result<void> add_nics(const SaidDevice& card, const pugi::xml_node& holder) {
    bool any = false;
    for (const pugi::xml_node nic : holder.children("nic")) {
      for (const pugi::xml_node net : nic.children("net")) {
        any = true;
        said_.devices.push_back(card);
        said_.devices.back().name = attribute(net, "name");
        if (said_.devices.size() >= 8 * most_devices) return unreadable_at(text_, net, "too many NICs for one machine");
      }
    }
    if (!any) said_.devices.push_back(card);
    return {};
  }

  Result<void> read_links(int gpu, const pugi::xml_node& element) {
    for (const pugi::xml_node link : element.children()) {
      const std::string_view name = link.name();
      if (name != "nvlink" && name != "xgmi" && name != "c2c") continue;
      SaidNvlinks links;
      links.gpu = gpu;
      links.up = std::max(PEERLANE_TRY(number(text_, link, "count", most_links)), 0);
      if (said_.nvlinks.size() > 64u * most_devices) return unreadable_at(text_, link, "too many links for one machine");
      const auto far = by_address_.find(pci_address(attribute(link, "target")));
      const SaidKind kind = kind_of_class(attribute(link, "tclass"));
      if (name == "c2c" || attribute(link, "tclass").starts_with("0x068001")) {
        links.far_end = SaidFarEnd::cpu;
      } else if (far != by_address_.end()) {
        links.far_end = SaidFarEnd::gpu;
        links.far_gpu = far->second;
      } else if (kind == SaidKind::nvswitch) {
        links.far_end = SaidFarEnd::nvswitch;
      } else {
        said_.notes.push_back(fmt::format("{}: {} links lead from {} to {}, which the file does not describe",
                                          text_.source, links.up, said_.devices[gpu].pci,
                                          quote(attribute(link, "target"))));
        continue;
      }
      said_.nvlinks.push_back(links);
    }
    return {};
  }

  const Text& text_;
  std::map<std::string, int> by_address_;
  std::vector<std::pair<int, pugi::xml_node>> gpus_;
  Said said_;
};

bool knows(std::string_view text) {
  return text.substr(0, 65536).find("<system") != std::string_view::npos;
}

Result<Said> read(const Text& text) {
  return Reader(text).read();
}

}  // namespace

Importer nccl_xml() {
  return {format, knows, read};
}

}  // namespace peerlane::importers

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "peerlane/machine.hpp"

namespace peerlane {
namespace {

constexpr const char* class_of_switch = "0x060400";
constexpr const char* class_of_gpu = "0x030200";
constexpr const char* class_of_nic = "0x020000";
constexpr const char* class_of_drive = "0x010802";
constexpr const char* class_of_nvswitch = "0x068000";
constexpr const char* class_of_device = "0xff0000";

const char* class_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return class_of_gpu;
    case NodeKind::nic:
      return class_of_nic;
    case NodeKind::drive:
      return class_of_drive;
    case NodeKind::nvswitch:
      return class_of_nvswitch;
    case NodeKind::pcie_switch:
      return class_of_switch;
    default:
      return class_of_device;
  }
}

const char* speed_of(int generation) {
  constexpr const char* speeds[] = {"", "2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe",
                                    "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  return generation > 0 && generation <= 6 ? speeds[generation] : "";
}

/// "0-1,8" becomes "00000103": the mask that the kernel writes, 32 CPUs a word.
std::string mask_of(std::string_view cpus) {
  constexpr unsigned most_cpus = 1u << 16;
  std::vector<std::uint32_t> words(1);
  for (std::size_t at = 0; at < cpus.size();) {
    const std::string_view item = cpus.substr(at, cpus.find(',', at) - at);
    at += item.size() + 1;
    unsigned first = 0;
    const auto [dash, error] = std::from_chars(item.data(), item.data() + item.size(), first);
    unsigned last = first;
    if (error == std::errc{} && dash != item.data() + item.size()) {
      std::from_chars(dash + 1, item.data() + item.size(), last);
    }
    if (error != std::errc{} || last >= most_cpus) continue;
    if (last / 32 >= words.size()) words.resize(last / 32 + 1);
    for (unsigned cpu = first; cpu <= last; ++cpu) words[cpu / 32] |= 1u << cpu % 32;
  }
  std::string mask;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    mask += fmt::format("{}{:08x}", mask.empty() ? "" : ",", *word);
  }
  return mask;
}

class NcclWriter {
 public:
  explicit NcclWriter(const Machine& machine) : machine_(machine) {
    for (const Node& node : machine.nodes) taken_.insert(node.pci);
  }

  std::string write() {
    pugi::xml_node system = document_.append_child("system");
    system.append_attribute("version") = "1";
    for (std::size_t i = 0; i < machine_.nodes.size(); ++i) {
      if (machine_.nodes[i].kind == NodeKind::numa) add_cpu(system, static_cast<int>(i));
    }
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_default | pugi::format_no_declaration);
    return text.str();
  }

 private:
  int far_end(const Link& link, int node) const { return link.a == node ? link.b : link.a; }

  void add_cpu(pugi::xml_node system, int numa) {
    const Node& memory = machine_.nodes[numa];
    pugi::xml_node cpu = system.append_child("cpu");
    cpu.append_attribute("numaid") = memory.index;
    if (!memory.cpus.empty()) cpu.append_attribute("affinity") = mask_of(memory.cpus).c_str();
    for (const Link& link : machine_.links) {
      if (link.kind != LinkKind::memory || link.b != numa) continue;
      const bool first_of_socket = first_memory(link.a) == numa;
      for (const Link& root : machine_.links) {
        if (root.kind == LinkKind::root && far_end(root, link.a) != link.a && (root.a == link.a || root.b == link.a)) {
          add_port(cpu, far_end(root, link.a), memory.index, first_of_socket);
        }
      }
    }
  }

  int first_memory(int socket) const {
    for (const Link& link : machine_.links) {
      if (link.kind == LinkKind::memory && link.a == socket) return link.b;
    }
    return -1;
  }

  /// A port has no element of its own; what hangs on it goes to the NUMA node it is near, else to the socket's first.
  void add_port(pugi::xml_node cpu, int port, int numa, bool takes_the_homeless) {
    for (const Link& link : machine_.links) {
      if (link.kind != LinkKind::pcie || link.b != port) continue;
      const int near = numa_below(link.a);
      if (near == numa || (takes_the_homeless && !belongs_elsewhere(port, near))) add_device(cpu, link.a, link);
    }
  }

  /// Is there a NUMA node of this number at the port's socket?
  bool belongs_elsewhere(int port, int numa) const {
    for (const Link& root : machine_.links) {
      if (root.kind != LinkKind::root || (root.a != port && root.b != port)) continue;
      for (const Link& link : machine_.links) {
        const bool same_socket = link.kind == LinkKind::memory && link.a == far_end(root, port);
        if (same_socket && machine_.nodes[link.b].index == numa) return true;
      }
    }
    return false;
  }

  int numa_below(int node) const {
    if (machine_.nodes[node].numa >= 0) return machine_.nodes[node].numa;
    for (const Link& link : machine_.links) {
      if (link.kind != LinkKind::pcie || link.b != node) continue;
      if (const int numa = numa_below(link.a); numa >= 0) return numa;
    }
    return -1;
  }

  void add_device(pugi::xml_node above, int index, const Link& up) {
    const Node& node = machine_.nodes[index];
    pugi::xml_node pci = above.append_child("pci");
    pci.append_attribute("busid") = address_of(index).c_str();
    pci.append_attribute("class") = class_of(node.kind);
    pci.append_attribute("link_speed") = speed_of(up.generation);
    pci.append_attribute("link_width") = up.width;
    if (node.kind == NodeKind::gpu) add_gpu(pci, index);
    if (node.kind == NodeKind::nic) add_net(pci, node);
    for (const Link& link : machine_.links) {
      if (link.kind == LinkKind::pcie && link.b == index) add_device(pci, link.a, link);
    }
  }

  void add_gpu(pugi::xml_node pci, int index) {
    const Node& node = machine_.nodes[index];
    pugi::xml_node gpu = pci.append_child("gpu");
    gpu.append_attribute("dev") = node.index;
    if (node.compute_major > 0) gpu.append_attribute("sm") = 10 * node.compute_major + node.compute_minor;
    for (const Link& link : machine_.links) {
      const bool ours = link.a == index || link.b == index;
      if (!ours || (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi)) continue;
      const int far = far_end(link, index);
      pugi::xml_node bond = gpu.append_child(link.kind == LinkKind::xgmi ? "xgmi" : "nvlink");
      bond.append_attribute("target") = address_of(far).c_str();
      bond.append_attribute("count") = link.width;
      bond.append_attribute("tclass") = class_of(machine_.nodes[far].kind);
    }
  }

  static void add_net(pugi::xml_node pci, const Node& node) {
    pugi::xml_node net = pci.append_child("nic").append_child("net");
    net.append_attribute("name") = node.name.c_str();
    net.append_attribute("dev") = node.index;
  }

  /// Its own, or one from a domain that no real machine reaches: NCCL knows devices by their addresses only.
  std::string address_of(int index) {
    const Node& node = machine_.nodes[index];
    if (!node.pci.empty()) return node.pci;
    std::string& made = made_[index];
    for (int bus = index; made.empty(); bus += 251) {
      std::string address = fmt::format("{:04x}:{:02x}:00.0", 0xff00 + bus / 256 % 256, bus % 256);
      if (taken_.insert(address).second) made = std::move(address);
    }
    return made;
  }

  const Machine& machine_;
  pugi::xml_document document_;
  std::set<std::string> taken_;
  std::map<int, std::string> made_;
};

}  // namespace

std::string to_nccl_xml(const Machine& machine) {
  return NcclWriter(machine).write();
}

}  // namespace peerlane

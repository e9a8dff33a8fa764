#include "probe/nvml_report.hpp"

#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "vendor/nvml.hpp"

namespace peerlane::probe {
namespace {

using nlohmann::json;

constexpr unsigned most_gpus = 256;

/// Calls one function of the table after another and keeps what failed for a reason worth a note.
class Reader {
 public:
  explicit Reader(const vendor::Nvml& nvml) : nvml_(nvml) {}

  /// True when the call exists and succeeded. That this GPU or library lacks it is no news.
  template <class... Parameters, class... Arguments>
  bool ask(const char* what, nvml::Status (*call)(Parameters...), Arguments... arguments) {
    if (call == nullptr) return false;
    const nvml::Status status = call(arguments...);
    if (status == nvml::Status::success) return true;
    if (status != nvml::Status::not_supported && status != nvml::Status::function_not_found) note(what, status);
    return false;
  }

  std::optional<std::string> text(const char* what, nvml::Status (*call)(nvml::Device, char*, unsigned),
                                  nvml::Device device) {
    char buffer[128] = {};
    if (!ask(what, call, device, buffer, static_cast<unsigned>(sizeof buffer - 1))) return std::nullopt;
    return std::string(buffer);
  }

  std::optional<unsigned> number(const char* what, nvml::Status (*call)(nvml::Device, unsigned*), nvml::Device device) {
    unsigned value = 0;
    if (!ask(what, call, device, &value)) return std::nullopt;
    return value;
  }

  /// One field value; nothing where NVML does not know it.
  std::optional<unsigned long long> field(nvml::Device device, nvml::Field field, unsigned scope = 0) {
    nvml::FieldValue value{};
    value.field = field;
    value.scope = scope;
    if (!ask("field values", nvml_.field_values, device, 1, &value)) return std::nullopt;
    if (value.status != nvml::Status::success) return std::nullopt;
    switch (value.type) {
      case nvml::type_unsigned:
        return value.as_unsigned;
      case nvml::type_ulong:
        return value.as_ulong;
      case nvml::type_ulonglong:
        return value.as_ulonglong;
      case nvml::type_ushort:
        return value.as_ushort;
      case nvml::type_int:
        if (value.as_int >= 0) return value.as_int;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  void subject(std::string name) { subject_ = std::move(name); }
  void note(const char* what, nvml::Status status) {
    for (Trouble& known : troubles_) {
      if (known.what == what && known.status == status) return static_cast<void>(++known.times);
    }
    troubles_.push_back({what, status, subject_, 1});
  }

  /// One sentence a kind of trouble, however many GPUs have it.
  std::vector<std::string> notes() const {
    std::vector<std::string> sentences;
    for (const Trouble& trouble : troubles_) {
      const std::string others = trouble.times > 1 ? " (and " + std::to_string(trouble.times - 1) + " times more)" : "";
      sentences.push_back("NVML cannot read " + trouble.what + " of " + trouble.subject + others + ": " +
                          vendor::status_name(trouble.status));
    }
    return sentences;
  }

 private:
  struct Trouble {
    std::string what;
    nvml::Status status;
    std::string subject;
    int times;
  };

  const vendor::Nvml& nvml_;
  std::string subject_;
  std::vector<Trouble> troubles_;
};

template <class T>
void put(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

/// "0000:1b:00.0": lower case, four digits of domain where they suffice.
std::string pci_text(const nvml::PciInfo& info) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus & 0xff, info.device & 0x1f);
  return text;
}

const char* remote_word(int type) {
  switch (type) {
    case nvml::remote_gpu:
      return "gpu";
    case nvml::remote_cpu:
      return "cpu";
    case nvml::remote_switch:
      return "switch";
    default:
      return "unknown";
  }
}

/// What a working link is and where it leads.
void read_link(Reader& reader, const vendor::Nvml& nvml, nvml::Device device, unsigned link, json& out) {
  unsigned version = 0;
  if (reader.ask("an NVLink's version", nvml.link_version, device, link, &version)) out["version"] = version;
  put(out, "speed_mb_s", reader.field(device, nvml::field_link_speed_mb_s, link));

  int type = nvml::remote_unknown;
  reader.ask("an NVLink's far end", nvml.link_remote_type, device, link, &type);
  out["remote"] = remote_word(type);
  nvml::PciInfo far_end{};
  if (reader.ask("an NVLink's far end", nvml.link_remote_pci, device, link, &far_end)) {
    out["remote_pci"] = pci_text(far_end);
  }
  unsigned has = 0;
  if (reader.ask("an NVLink's abilities", nvml.link_capability, device, link, nvml::link_peer, &has)) {
    out["peer"] = has != 0;
  }
  if (reader.ask("an NVLink's abilities", nvml.link_capability, device, link, nvml::link_peer_atomics, &has)) {
    out["atomics"] = has != 0;
  }
}

json links_of(Reader& reader, const vendor::Nvml& nvml, nvml::Device device) {
  json links = json::array();
  if (nvml.link_state == nullptr) return links;
  const auto counted = reader.field(device, nvml::field_link_count);
  const unsigned count = counted && *counted < nvml::most_links ? static_cast<unsigned>(*counted) : nvml::most_links;
  for (unsigned link = 0; link < count; ++link) {
    int active = 0;
    const nvml::Status status = nvml.link_state(device, link, &active);
    if (status == nvml::Status::invalid_argument) break;  // past the last link of this GPU
    if (status != nvml::Status::success) {
      if (status != nvml::Status::not_supported) reader.note("an NVLink's state", status);
      continue;
    }
    json out = {{"link", link}, {"active", active != 0}};
    if (active != 0) read_link(reader, nvml, device, link, out);
    links.push_back(std::move(out));
  }
  return links;
}

json pcie_of(Reader& reader, const vendor::Nvml& nvml, nvml::Device device) {
  json pcie = json::object();
  put(pcie, "generation", reader.number("the PCIe generation", nvml.pcie_generation, device));
  put(pcie, "max_generation", reader.number("the PCIe generation", nvml.pcie_max_generation, device));
  put(pcie, "width", reader.number("the PCIe width", nvml.pcie_width, device));
  put(pcie, "max_width", reader.number("the PCIe width", nvml.pcie_max_width, device));
  return pcie;
}

json gpu_report(Reader& reader, const vendor::Nvml& nvml, unsigned index, nvml::Device device) {
  json gpu = {{"index", index}};
  put(gpu, "name", reader.text("the name", nvml.name, device));
  put(gpu, "uuid", reader.text("the UUID", nvml.uuid, device));
  nvml::PciInfo pci{};
  if (reader.ask("the PCI address", nvml.pci_info, device, &pci)) gpu["pci"] = pci_text(pci);
  gpu["pcie"] = pcie_of(reader, nvml, device);
  gpu["links"] = links_of(reader, nvml, device);
  put(gpu, "c2c_links", reader.field(device, nvml::field_c2c_count));
  unsigned mig = 0, pending = 0;
  if (reader.ask("the MIG mode", nvml.mig_mode, device, &mig, &pending)) gpu["mig"] = mig != 0;
  nvml::FabricInfo fabric{};
  fabric.version = nvml::fabric_info_version;
  if (reader.ask("the fabric's state", nvml.fabric_info, device, &fabric)) {
    gpu["fabric"] = {{"state", fabric.state},
                     {"status", static_cast<int>(fabric.status)},
                     {"clique", fabric.clique},
                     {"health", fabric.health_mask}};
  }
  return gpu;
}

json pair_report(Reader& reader, const vendor::Nvml& nvml, unsigned from_index, nvml::Device from, unsigned to_index,
                 nvml::Device to) {
  json pair = {{"from", from_index}, {"to", to_index}};
  int level = 0;
  if (reader.ask("the common ancestor", nvml.common_ancestor, from, to, &level)) pair["ancestor"] = level;
  constexpr struct {
    nvml::P2PIndex index;
    const char* key;
  } caps[] = {{nvml::p2p_read, "read"},
              {nvml::p2p_write, "write"},
              {nvml::p2p_nvlink, "nvlink"},
              {nvml::p2p_atomics, "atomics"},
              {nvml::p2p_pci, "pci"}};
  json p2p = json::object();
  for (const auto& cap : caps) {
    int status = nvml::p2p_unknown;
    if (reader.ask("the peer status", nvml.p2p_status, from, to, static_cast<int>(cap.index), &status)) {
      p2p[cap.key] = status;
    }
  }
  pair["p2p"] = std::move(p2p);
  return pair;
}

struct Handle {
  unsigned index;
  nvml::Device device;
};

std::vector<Handle> open_gpus(Reader& reader, const vendor::Nvml& nvml) {
  std::vector<Handle> handles;
  unsigned count = 0;
  reader.subject("this machine");
  if (!reader.ask("the number of GPUs", nvml.device_count, &count)) return handles;
  for (unsigned index = 0; index < count && index < most_gpus; ++index) {
    nvml::Device device = nullptr;
    reader.subject("GPU " + std::to_string(index));
    if (reader.ask("the handle", nvml.device_by_index, index, &device)) handles.push_back({index, device});
  }
  return handles;
}

std::string version_text(Reader& reader, const char* what, nvml::Status (*call)(char*, unsigned)) {
  char text[96] = {};
  reader.subject("this machine");
  return reader.ask(what, call, text, static_cast<unsigned>(sizeof text - 1)) ? text : "";
}

}  // namespace

json nvml_report(const std::string& library_path) {
  json report = {{"schema", "peerlane.nvml/1"}, {"available", false}};
  const auto nvml = vendor::open_nvml(library_path);
  if (!nvml) {
    report["reason"] = nvml.error().message();
    return report;
  }

  Reader reader(*nvml);
  report["available"] = true;
  report["library"] = nvml->loaded_from;
  report["driver"] = version_text(reader, "the driver's version", nvml->driver_version);
  report["nvml"] = version_text(reader, "the library's version", nvml->library_version);
  const auto handles = open_gpus(reader, *nvml);

  report["gpus"] = json::array();
  for (const Handle& gpu : handles) {
    reader.subject("GPU " + std::to_string(gpu.index));
    report["gpus"].push_back(gpu_report(reader, *nvml, gpu.index, gpu.device));
  }
  report["pairs"] = json::array();
  for (const Handle& from : handles) {
    for (const Handle& to : handles) {
      if (from.index == to.index) continue;
      reader.subject("GPUs " + std::to_string(from.index) + " and " + std::to_string(to.index));
      report["pairs"].push_back(pair_report(reader, *nvml, from.index, from.device, to.index, to.device));
    }
  }
  report["notes"] = reader.notes();
  return report;
}

}  // namespace peerlane::probe

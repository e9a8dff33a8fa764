#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "machine/json_form.hpp"
#include "machine/paths.hpp"
#include "machine/words.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

/// Text from a probe may hold anything; a document is always valid.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json claim(Claim claim) {
  return claim == Claim::unknown ? Json() : Json(claim == Claim::yes);
}

/// 0 is "not known".
Json rate(double bytes_per_s) {
  return bytes_per_s > 0 ? Json(bytes_per_s) : Json();
}

/// What follows from the rest; a reader passes over it.
Json nearest_json(const Machine& machine, int gpu) {
  const NearestNics nearest = machine.nearest_nics(gpu);
  if (nearest.nics.empty()) return {};
  Json nics = Json::array();
  for (const int nic : nearest.nics) nics.push_back(fmt::format("nic:{}", nic));
  return {{"letters", nearest.letters}, {"nics", nics}};
}

Json gpu_json(const Machine& machine, const Node& gpu) {
  return {{"place", gpu.id()},
          {"name", gpu.name},
          {"pci", gpu.pci},
          {"uuid", gpu.uuid},
          {"numa", gpu.numa},
          {"memory_bytes", gpu.memory > 0 ? Json(gpu.memory) : Json()},
          {"memory_bytes_per_s", rate(gpu.memory_bytes_per_s)},
          {"compute", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)},
          {"copy_engines", gpu.copy_engines},
          {"cpus", text_or_null(gpu.cpus)},
          {"memory_numa", gpu.memory_numa < 0 ? Json() : Json(gpu.memory_numa)},
          {"mig_slices", gpu.mig_slices},
          {"nearest_nics", nearest_json(machine, gpu.index)}};
}

Json numa_json(const Node& numa) {
  return {{"id", numa.id()},
          {"name", numa.name},
          {"memory_bytes", numa.memory},
          {"memory_bytes_per_s", rate(numa.memory_bytes_per_s)},
          {"cpus", text_or_null(numa.cpus)}};
}

Json plain_json(const Node& node) {
  return {{"id", node.id()}, {"name", node.name}, {"pci", node.pci}, {"numa", node.numa}};
}

Json nic_json(const Machine& machine, const Node& nic) {
  Json json = plain_json(nic);
  Json& letters = json["gpus"] = Json::object();
  for (const Nearness& one : machine.near) {
    if (one.nic == nic.index) letters[fmt::format("gpu:{}", one.gpu)] = one.letters;
  }
  return json;
}

Json node_json(const Machine& machine, const Node& node) {
  switch (node.kind) {
    case NodeKind::gpu:
      return gpu_json(machine, node);
    case NodeKind::numa:
      return numa_json(node);
    case NodeKind::nic:
      return nic_json(machine, node);
    default:
      return plain_json(node);
  }
}

Json link_json(const Machine& machine, const Link& link) {
  return {{"a", machine.nodes[link.a].id()},     {"b", machine.nodes[link.b].id()},
          {"kind", machine::word(link.kind)},    {"width", link.width},
          {"generation", link.generation},       {"bytes_per_s", rate(link.bytes_per_s)},
          {"latency_s", link.latency_s},         {"shared", machine::is_shared(machine, link)},
          {"origin", machine::word(link.origin)}};
}

/// What is verified and measured lies elsewhere, with its date; the keys are here so that readers find one form.
Json pair_json(const Pair& pair) {
  return {{"from", fmt::format("gpu:{}", pair.from)},
          {"to", fmt::format("gpu:{}", pair.to)},
          {"letters", pair.letters},
          {"nvlinks", pair.nvlinks},
          {"claimed", claim(pair.access)},
          {"verified", nullptr},
          {"measured_bytes_per_s", nullptr},
          {"atomics", claim(pair.atomics)},
          {"why_not", text_or_null(pair.why_not)}};
}

Json host_json(const HostRates& host) {
  return {{"cpu_copy_bytes_per_s", host.cpu_copy_bytes_per_s},
          {"file_read_bytes_per_s", host.file_read_bytes_per_s},
          {"file_write_bytes_per_s", host.file_write_bytes_per_s},
          {"workers", host.workers},
          {"origin", machine::word(host.origin)}};
}

Json document(const Machine& machine) {
  Json json = {{"schema", machine::schema},
               {"name", machine.name},
               {"live", machine.live},
               {"driver", machine.driver},
               {"cuda_version", machine.cuda_version}};
  for (const auto& [kind, key] : machine::node_lists) {
    Json& list = json[std::string(key)] = Json::array();
    for (const Node& node : machine.nodes) {
      if (node.kind == kind) list.push_back(node_json(machine, node));
    }
  }
  Json& links = json["links"] = Json::array();
  for (const Link& link : machine.links) links.push_back(link_json(machine, link));
  Json& pairs = json["pairs"] = Json::array();
  for (const Pair& pair : machine.pairs) pairs.push_back(pair_json(pair));
  json["host"] = host_json(machine.host);
  json["notes"] = machine.notes;
  return json;
}

/// One element of a list a line: short enough to read, and a change of one link is a change of one line.
std::string one_element_a_line(const Json& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + dump(list[i]);
  return text + (list.empty() ? "]" : "\n  ]");
}

}  // namespace

std::string to_json(const Machine& machine) {
  const Json json = document(machine);
  std::string text = "{";
  for (const auto& [key, value] : json.items()) {
    text += text.size() == 1 ? "\n  " : ",\n  ";
    text += dump(Json(key)) + ": " + (value.is_array() ? one_element_a_line(value) : dump(value));
  }
  return text + "\n}\n";
}

}  // namespace peerlane

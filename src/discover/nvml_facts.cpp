#include <algorithm>
#include <nlohmann/json.hpp>

#include "discover/helper_process.hpp"
#include "base/pci_address.hpp"
#include "discover/probes.hpp"

namespace peerlane::discover {
namespace {

using nlohmann::json;

// The document comes from a process that may have been hit by anything: nothing in it is taken on trust.

std::optional<int> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<long long>();
  return value >= 0 && value < 1'000'000'000 ? std::optional(static_cast<int>(value)) : std::nullopt;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool truth(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

/// The objects of an array; none where there is no such array.
std::vector<json> objects(const json& object, const char* key) {
  std::vector<json> found;
  const auto array = object.find(key);
  if (array == object.end() || !array->is_array()) return found;
  std::copy_if(array->begin(), array->end(), std::back_inserter(found),
               [](const json& item) { return item.is_object(); });
  return found;
}

json member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : json::object();
}

/// NVML counts 2.2 and 3.1 as versions of their own.
int nvlink_generation(int version) {
  constexpr int generations[] = {0, 1, 2, 2, 3, 3, 4, 5, 6};
  return version >= 0 && version < static_cast<int>(std::size(generations)) ? generations[version] : 0;
}

FarEnd far_end(const std::string& word) {
  if (word == "gpu") return FarEnd::gpu;
  if (word == "switch") return FarEnd::nvswitch;
  if (word == "cpu") return FarEnd::cpu;
  return FarEnd::unknown;
}

NvlinkFacts link_facts(const json& link) {
  NvlinkFacts facts;
  facts.active = truth(link, "active");
  facts.generation = nvlink_generation(number(link, "version").value_or(0));
  facts.raw_bytes_per_s = 1e6 * number(link, "speed_mb_s").value_or(0);
  facts.far_end = far_end(text(link, "remote"));
  facts.far_pci = pci_address(text(link, "remote_pci"));
  return facts;
}

NvmlGpuFacts gpu_facts(const json& gpu) {
  NvmlGpuFacts facts;
  facts.index = number(gpu, "index").value_or(0);
  facts.uuid = text(gpu, "uuid");
  facts.pci = pci_address(text(gpu, "pci"));
  facts.mig = truth(gpu, "mig");
  const json pcie = member(gpu, "pcie");
  facts.pcie = {number(pcie, "max_generation").value_or(0), number(pcie, "max_width").value_or(0),
                number(pcie, "generation").value_or(0), number(pcie, "width").value_or(0)};
  for (const json& link : objects(gpu, "links")) facts.links.push_back(link_facts(link));
  facts.c2c_links = number(gpu, "c2c_links").value_or(0);
  facts.fabric_state = number(member(gpu, "fabric"), "state").value_or(0);
  return facts;
}

std::optional<NvmlPairFacts> pair_facts(const json& pair) {
  const auto from = number(pair, "from"), to = number(pair, "to");
  if (!from || !to || *from == *to) return std::nullopt;
  const json p2p = member(pair, "p2p");
  return NvmlPairFacts{*from,
                       *to,
                       number(pair, "ancestor"),
                       number(p2p, "read"),
                       number(p2p, "write"),
                       number(p2p, "nvlink"),
                       number(p2p, "pci")};
}

NvmlFacts absent(std::string why) {
  NvmlFacts facts;
  facts.notes.push_back("NVML was not read, so NVLinks and the reasons of closed pairs are not known: " +
                        std::move(why));
  return facts;
}

}  // namespace

NvmlFacts parse_nvml(std::string_view document) {
  const json report = json::parse(document, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || text(report, "schema") != "peerlane.nvml/1") {
    return absent("the helper printed no document of schema peerlane.nvml/1");
  }
  if (!truth(report, "available")) {
    const std::string reason = text(report, "reason");
    return absent(reason.empty() ? "the helper gives no reason" : reason);
  }
  NvmlFacts facts;
  facts.available = true;
  facts.driver = text(report, "driver");
  for (const json& gpu : objects(report, "gpus")) facts.gpus.push_back(gpu_facts(gpu));
  for (const json& pair : objects(report, "pairs")) {
    if (auto known = pair_facts(pair)) facts.pairs.push_back(*known);
  }
  if (const auto notes = report.find("notes"); notes != report.end() && notes->is_array()) {
    for (const json& note : *notes) {
      if (note.is_string()) facts.notes.push_back(note.get<std::string>());
    }
  }
  return facts;
}

NvmlFacts nvml_facts(const Settings& settings) {
  const auto helper = find_helper(settings.helper);
  if (!helper) return absent(helper.error().message());
  const auto document = run_helper(*helper, {"nvml"}, settings.helper_seconds);
  return document ? parse_nvml(*document) : absent(document.error().message());
}

}  // namespace peerlane::discover

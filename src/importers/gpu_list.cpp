#include <fmt/format.h>

#include <algorithm>

#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/gpu_lines.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view list_format = "nvidia-smi -L";
constexpr std::string_view links_format = "nvidia-smi nvlink -s";
constexpr int most_links = 64;

/// Any mention of a link or of none: the mark of `nvlink -s`.
bool speaks_of_links(std::string_view text) {
  for (std::size_t at = 0; (at = text.find("Link ", at)) != std::string_view::npos; ++at) {
    const std::size_t digits = at + 5;
    const std::size_t colon = text.find_first_not_of("0123456789", digits);
    if (colon != std::string_view::npos && colon > digits && text[colon] == ':') return true;
  }
  return text.find("all links are inActive") != std::string_view::npos;
}

Said begun(const Text& text, std::string_view format) {
  Said said;
  said.source = text.source;
  said.format = format;
  return said;
}

/// Index of the GPU that a line begins; a number that comes again is an error, and so is too much.
Result<bool> begin_gpu(Said& said, const Text& text, const Line& line) {
  auto gpu = gpu_line(line.text);
  if (!gpu) return false;
  if (std::ranges::count(said.devices, gpu->ordinal, &SaidDevice::ordinal) > 0) {
    return unreadable(text, line.number, line.shift + 1, fmt::format("GPU {} is listed a second time", gpu->ordinal));
  }
  said.devices.push_back(std::move(*gpu));
  return true;
}

Result<Said> read_list(const Text& text) {
  const auto lines = PEERLANE_TRY(clean_lines(text));
  Said said = begun(text, list_format);
  for (const Line& line : lines) {
    if (PEERLANE_TRY(begin_gpu(said, text, line)) || said.devices.empty()) continue;
    const auto words = words_of(line.text);
    const bool slice = words.size() > 2 && words[0] == "MIG" && std::ranges::find(words, "Device") != words.end();
    if (slice) ++said.devices.back().mig_slices;
  }
  if (said.devices.empty()) return unreadable(text, 1, 1, "no line \"GPU 0: … (UUID: …)\" can be read");
  return said;
}

/// "14.062 GB/s" in bytes; 0: it says no rate.
double rate_of(const std::vector<std::string_view>& words) {
  if (words.size() < 4 || !words[3].starts_with("GB/s")) return 0;
  const std::string figure(words[2].substr(0, 16));
  char* end = nullptr;
  const double gigabytes = std::strtod(figure.c_str(), &end);
  return end != figure.c_str() && *end == '\0' && gigabytes > 0 && gigabytes < 1000 ? gigabytes * 1e9 : 0;
}

/// Signalling rates that only one generation has.
int generation_of(double raw_bytes_per_s) {
  if (raw_bytes_per_s > 26.4e9 && raw_bytes_per_s < 26.7e9) return 4;
  if (raw_bytes_per_s > 50e9 && raw_bytes_per_s < 54e9) return 5;
  return 0;
}

Result<Said> read_links(const Text& text) {
  const auto lines = PEERLANE_TRY(clean_lines(text));
  Said said = begun(text, links_format);
  for (const Line& line : lines) {
    if (PEERLANE_TRY(begin_gpu(said, text, line))) {
      said.nvlinks.push_back({});
      said.nvlinks.back().gpu = static_cast<int>(said.devices.size()) - 1;
      continue;
    }
    if (said.devices.empty()) continue;
    const auto words = words_of(line.text);
    const bool is_link = words.size() > 2 && words[0] == "Link" && words[1].ends_with(':') &&
                         number_of(words[1].substr(0, words[1].size() - 1), most_links - 1);
    if (!is_link) continue;
    SaidNvlinks& links = said.nvlinks.back();
    if (const double rate = rate_of(words); rate > 0) {
      ++links.up;
      links.raw_bytes_per_s = std::max(links.raw_bytes_per_s, rate);
      links.generation = std::max(links.generation, generation_of(rate));
    } else if (words[2] == "<inactive>" || words[2] == "inActive" || words[2] == "inactive") {
      ++links.down;
    } else {
      said.notes.push_back(fmt::format("{}: line {}: what this link does cannot be read", text.source, line.number));
    }
  }
  if (said.devices.empty()) return unreadable(text, 1, 1, "no line \"GPU 0: … (UUID: …)\" can be read");
  return said;
}

bool knows_list(std::string_view text) {
  return has_gpu_line(text) && !speaks_of_links(text);
}

bool knows_links(std::string_view text) {
  return has_gpu_line(text) && speaks_of_links(text);
}

}  // namespace

std::optional<SaidDevice> gpu_line(std::string_view line) {
  const std::size_t at = line.find("GPU ");
  const std::size_t colon = line.find(':', at);
  const std::size_t uuid = line.find("(UUID: ", at);
  if (at == std::string_view::npos || colon == std::string_view::npos || uuid == std::string_view::npos) return {};
  if (line.find_first_not_of(" \t") != at || colon > uuid) return {};
  const auto number = number_of(line.substr(at + 4, colon - at - 4), most_devices - 1);
  const std::size_t end = line.find(')', uuid);
  if (!number || end == std::string_view::npos) return {};
  SaidDevice gpu;
  gpu.ordinal = *number;
  std::string_view name = line.substr(colon + 1, uuid - colon - 1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  gpu.name = name;
  gpu.uuid = line.substr(uuid + 7, end - uuid - 7);
  return gpu;
}

bool has_gpu_line(std::string_view text) {
  for (std::size_t at = 0; (at = text.find("(UUID: GPU-", at)) != std::string_view::npos; ++at) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    const std::string_view line = text.substr(begin, at - begin);
    if (line.size() < 4096 && line.find("GPU ") != std::string_view::npos) return true;
  }
  return false;
}

Importer gpu_list() {
  return {list_format, knows_list, read_list};
}

Importer nvlink_status() {
  return {links_format, knows_links, read_links};
}

}  // namespace peerlane::importers

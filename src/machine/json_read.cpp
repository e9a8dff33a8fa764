#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "base/try.hpp"
#include "machine/json_field.hpp"
#include "machine/json_form.hpp"
#include "machine/paths.hpp"
#include "machine/words.hpp"

namespace peerlane {
namespace {

using machine::Field;
using machine::Range;

/// More than any machine has; enough to bound what a hostile file costs.
constexpr std::size_t most_elements = 65536;

constexpr Range a_rate = {1, 1e15, "a positive number of bytes per second"};
constexpr Range a_latency = {0, 1, "a number of seconds from 0 to 1"};
constexpr Range a_size = {0, 1e15, "a whole number of bytes"};
constexpr Range a_gpu_size = {1, 1e15, "a positive whole number of bytes"};
constexpr Range a_count = {0, 4096, "a whole number from 0 to 4096"};
constexpr Range a_positive_count = {1, 4096, "a whole number from 1 to 4096"};
constexpr Range a_numa_number = {-1, 65535, "a NUMA node's number, or -1 for unknown"};
constexpr Range a_cuda_version = {0, 1'000'000, "a CUDA version like 13000, or 0 for unknown"};

/// All of `text` as a plain decimal number: no sign, no leading zero.
std::optional<int> plain_number(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || std::to_string(number) != text || number < 0 || number > 65535) return {};
  return number;
}

/// The number behind "gpu:" in "gpu:3".
Result<int> index_in_id(const Field& field, std::string_view word) {
  const std::string id = PEERLANE_TRY(field.text());
  const std::string prefix = fmt::format("{}:", word);
  const auto number = id.starts_with(prefix) ? plain_number(std::string_view(id).substr(prefix.size())) : std::nullopt;
  if (!number) return field.expected(fmt::format("{}N with N from 0 to 65535", prefix));
  return *number;
}

template <class Enum, std::size_t N>
Result<Enum> one_of(const Field& field, const std::array<machine::Word<Enum>, N>& words, std::optional<Enum> absent) {
  if (!field.present() && absent) return *absent;
  const std::string text = PEERLANE_TRY(field.text());
  const auto value = machine::value_of(words, text);
  if (value) return *value;
  std::vector<std::string> known(N);
  std::transform(words.begin(), words.end(), known.begin(), [](const auto& word) { return std::string(word.text); });
  return field.expected(join(known, " or "));
}

Result<std::string> read_nearness_word(const Field& field) {
  std::string text = PEERLANE_TRY(field.text());
  const auto& words = machine::nearness_words;
  if (std::find(words.begin(), words.end(), text) != words.end()) return text;
  return field.expected(join({words.begin(), words.end()}, " or "));
}

Result<Claim> read_claim(const Field& field) {
  const std::optional<bool> answer = PEERLANE_TRY(field.yes_no_unknown());
  if (!answer) return Claim::unknown;
  return *answer ? Claim::yes : Claim::no;
}

Result<void> read_schema(const Field& field) {
  const std::string text = PEERLANE_TRY(field.text());
  if (text == machine::schema) return {};
  if (!text.starts_with(machine::schema_name)) return field.expected(quote(machine::schema));
  return field.wrong(
      fmt::format("this version of the form is not known: expected {}, got {}", quote(machine::schema), quote(text)));
}

Result<void> read_compute(const Field& field, Node& gpu) {
  const std::string text = PEERLANE_TRY(field.text("0.0"));
  const std::size_t point = text.find('.');
  const auto major = plain_number(std::string_view(text).substr(0, point));
  const auto minor = point == std::string::npos ? std::nullopt : plain_number(std::string_view(text).substr(point + 1));
  if (!major || !minor) return field.expected("a compute capability like \"9.0\"");
  gpu.compute_major = *major;
  gpu.compute_minor = *minor;
  return {};
}

Result<Node> read_node(const Field& field, NodeKind kind) {
  PEERLANE_TRY(field.is_object());
  const bool is_gpu = kind == NodeKind::gpu;
  const bool has_memory = is_gpu || kind == NodeKind::numa;
  Node node;
  node.kind = kind;
  node.index = PEERLANE_TRY(index_in_id(field.member(is_gpu ? "place" : "id"), machine::word(kind)));
  node.name = PEERLANE_TRY(field.member("name").text(""));
  node.pci = PEERLANE_TRY(field.member("pci").text(""));
  node.numa = PEERLANE_TRY(field.member("numa").integer(a_numa_number, kind == NodeKind::numa ? node.index : -1));
  if (has_memory) {
    const Field memory = field.member("memory_bytes");
    node.memory = PEERLANE_TRY(memory.bytes(is_gpu ? a_gpu_size : a_size, Bytes{0}));
    node.memory_bytes_per_s = PEERLANE_TRY(field.member("memory_bytes_per_s").number(a_rate, 0.0));
    node.cpus = PEERLANE_TRY(field.member("cpus").text(""));
  }
  if (is_gpu) {
    node.uuid = PEERLANE_TRY(field.member("uuid").text(""));
    PEERLANE_TRY(read_compute(field.member("compute"), node));
    node.copy_engines = PEERLANE_TRY(field.member("copy_engines").integer(a_count, 0));
    node.memory_numa = PEERLANE_TRY(field.member("memory_numa").integer(a_numa_number, -1));
    node.mig_slices = PEERLANE_TRY(field.member("mig_slices").integer(a_count, 0));
  }
  return node;
}

/// Reads one document into one machine; knows the nodes that links and pairs may name.
class Reader {
 public:
  explicit Reader(const Field& document) : document_(document) {}

  Result<Machine> read() {
    PEERLANE_TRY(document_.is_object());
    PEERLANE_TRY(read_schema(document_.member("schema")));
    machine_.name = PEERLANE_TRY(document_.member("name").text(""));
    machine_.driver = PEERLANE_TRY(document_.member("driver").text(""));
    machine_.cuda_version = PEERLANE_TRY(document_.member("cuda_version").integer(a_cuda_version, 0));
    for (const auto& [kind, key] : machine::node_lists) PEERLANE_TRY(read_nodes(document_.member(key), kind));
    PEERLANE_TRY(each("nics", &Reader::read_nearness));
    std::ranges::sort(machine_.near, {}, [](const Nearness& one) { return std::pair(one.nic, one.gpu); });
    PEERLANE_TRY(each("links", &Reader::read_link));
    PEERLANE_TRY(each("pairs", &Reader::read_pair));
    PEERLANE_TRY(read_host(document_.member("host")));
    PEERLANE_TRY(each("notes", &Reader::read_note));
    return std::move(machine_);
  }

 private:
  Result<void> each(std::string_view key, Result<void> (Reader::*read)(const Field&)) {
    const std::vector<Field> fields = PEERLANE_TRY(document_.member(key).elements(most_elements));
    for (const Field& field : fields) PEERLANE_TRY((this->*read)(field));
    return {};
  }

  Result<void> read_nodes(const Field& list, NodeKind kind) {
    const std::vector<Field> fields = PEERLANE_TRY(list.elements(most_elements - machine_.nodes.size()));
    for (const Field& field : fields) {
      Node node = PEERLANE_TRY(read_node(field, kind));
      const Field id = field.member(kind == NodeKind::gpu ? "place" : "id");
      if (kind == NodeKind::gpu && node.index >= static_cast<int>(fields.size())) {
        return id.expected(fmt::format("GPUs numbered from 0 to {} without a gap", fields.size() - 1));
      }
      if (!ids_.emplace(node.id(), static_cast<int>(machine_.nodes.size())).second) {
        return id.wrong(fmt::format("{} stands here a second time", node.id()));
      }
      machine_.nodes.push_back(std::move(node));
    }
    return {};
  }

  Result<int> read_node_id(const Field& field) const {
    const std::string id = PEERLANE_TRY(field.text());
    const auto found = ids_.find(id);
    if (found == ids_.end()) return field.wrong(fmt::format("the file has no node {}", quote(id)));
    return found->second;
  }

  Result<void> read_link(const Field& field) {
    PEERLANE_TRY(field.is_object());
    Link link;
    link.a = PEERLANE_TRY(read_node_id(field.member("a")));
    link.b = PEERLANE_TRY(read_node_id(field.member("b")));
    if (link.a == link.b) return field.wrong("a link needs two different ends");
    link.kind = PEERLANE_TRY(one_of<LinkKind>(field.member("kind"), machine::link_words, {}));
    link.width = PEERLANE_TRY(field.member("width").integer(a_count, 0));
    link.generation = PEERLANE_TRY(field.member("generation").integer(a_count, 0));
    PEERLANE_TRY(read_link_rate(field.member("bytes_per_s"), link));
    const double latency = machine::assumed_latency(link.kind);
    link.latency_s = PEERLANE_TRY(field.member("latency_s").number(a_latency, latency));
    link.origin = PEERLANE_TRY(one_of<Origin>(field.member("origin"), machine::origin_words, link.origin));
    machine_.links.push_back(link);
    return {};
  }

  /// Who names no rate gets the assumed one, where kind, generation and width tell it.
  static Result<void> read_link_rate(const Field& field, Link& link) {
    link.origin = field.present() ? Origin::reported : Origin::assumed;
    const double assumed = machine::assumed_rate(link.kind, link.generation, link.width);
    link.bytes_per_s = PEERLANE_TRY(field.number(a_rate, assumed > 0 ? std::optional(assumed) : std::nullopt));
    return {};
  }

  Result<int> read_gpu(const Field& field) const {
    const int ordinal = PEERLANE_TRY(index_in_id(field, "gpu"));
    if (!ids_.contains(fmt::format("gpu:{}", ordinal)))
      return field.wrong(fmt::format("the file has no gpu:{}", ordinal));
    return ordinal;
  }

  Result<void> read_pair(const Field& field) {
    PEERLANE_TRY(field.is_object());
    Pair pair;
    pair.from = PEERLANE_TRY(read_gpu(field.member("from")));
    pair.to = PEERLANE_TRY(read_gpu(field.member("to")));
    if (pair.from == pair.to) return field.wrong("a pair needs two different GPUs");
    if (!pairs_.emplace(pair.from, pair.to).second) {
      return field.wrong(fmt::format("the pair gpu:{} to gpu:{} stands here a second time", pair.from, pair.to));
    }
    pair.letters = PEERLANE_TRY(field.member("letters").text(""));
    pair.nvlinks = PEERLANE_TRY(field.member("nvlinks").integer(a_count, 0));
    pair.access = PEERLANE_TRY(read_claim(field.member("claimed")));
    pair.atomics = PEERLANE_TRY(read_claim(field.member("atomics")));
    pair.why_not = PEERLANE_TRY(field.member("why_not").text(""));
    machine_.pairs.push_back(std::move(pair));
    return {};
  }

  /// Of one NIC: {"gpu:0": "PIX", …}. A GPU that is not named stands where nobody knows.
  Result<void> read_nearness(const Field& nic) {
    const Field letters = nic.member("gpus");
    if (!letters.present()) return {};
    PEERLANE_TRY(letters.is_object());
    const int index = PEERLANE_TRY(index_in_id(nic.member("id"), machine::word(NodeKind::nic)));
    for (const std::string& key : letters.keys()) {
      const Field field = letters.member(key);
      const auto number = key.starts_with("gpu:") ? plain_number(std::string_view(key).substr(4)) : std::nullopt;
      if (!number || !ids_.contains(key)) return field.wrong(fmt::format("the file has no GPU {}", quote(key)));
      if (!field.present()) continue;
      machine_.near.push_back({index, *number, PEERLANE_TRY(read_nearness_word(field))});
    }
    return {};
  }

  Result<void> read_host(const Field& field) {
    if (!field.present()) return {};
    PEERLANE_TRY(field.is_object());
    HostRates& host = machine_.host;
    const auto rate = [&](std::string_view key, double absent) { return field.member(key).number(a_rate, absent); };
    host.cpu_copy_bytes_per_s = PEERLANE_TRY(rate("cpu_copy_bytes_per_s", host.cpu_copy_bytes_per_s));
    host.file_read_bytes_per_s = PEERLANE_TRY(rate("file_read_bytes_per_s", host.file_read_bytes_per_s));
    host.file_write_bytes_per_s = PEERLANE_TRY(rate("file_write_bytes_per_s", host.file_write_bytes_per_s));
    host.workers = PEERLANE_TRY(field.member("workers").integer(a_positive_count, host.workers));
    host.origin = PEERLANE_TRY(one_of<Origin>(field.member("origin"), machine::origin_words, Origin::reported));
    return {};
  }

  Result<void> read_note(const Field& field) {
    machine_.notes.push_back(PEERLANE_TRY(field.text()));
    return {};
  }

  Field document_;
  Machine machine_;
  std::unordered_map<std::string, int> ids_;
  std::set<std::pair<int, int>> pairs_;
};

}  // namespace

Result<Machine> machine_from_json(std::string_view text, std::string_view source_name) {
  const auto at_source = [&](Error error) {
    error.where = error.where.empty() ? std::string(source_name) : fmt::format("{}: {}", source_name, error.where);
    return error;
  };
  const auto document = PEERLANE_TRY(machine::parse_json(text).map_error(at_source));
  Machine machine = PEERLANE_TRY(Reader(Field(&document, "")).read().map_error(at_source));
  machine.source = source_name;
  // A recorded machine calls itself "this machine", which it is no more.
  if (machine.name.empty() || machine.name == "this machine") machine.name = source_name;
  return machine;
}

}  // namespace peerlane

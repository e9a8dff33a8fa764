#include "sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "base/try.hpp"
#include "sim/host_costs.hpp"

namespace peerlane::sim {
namespace {

constexpr std::pair<std::string_view, FaultKind> kinds[] = {
    {"corrupt", FaultKind::corrupt}, {"drop", FaultKind::drop},   {"misdirect", FaultKind::misdirect},
    {"mirror", FaultKind::mirror},   {"stale", FaultKind::stale}, {"stuck", FaultKind::stuck},
    {"lost", FaultKind::lost},       {"fail", FaultKind::fail},
};

constexpr std::string_view form = "KIND:WHERE[:N]";

tl::unexpected<Error> refuse(const std::string& text, std::string what, std::string hint = {}) {
  return fail(ErrorKind::invalid_argument, std::move(what), fmt::format("fault '{}'", text), std::move(hint));
}

/// Takes words off the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find_first_of(":>"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// ":DIGITS", whole up to the next separator; nothing is taken when it is something else.
  std::optional<std::uint64_t> number() {
    Reader ahead = *this;
    if (!ahead.take(':')) return std::nullopt;
    const std::string_view digits = ahead.word();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    *this = ahead;
    return value;
  }
  bool done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::string good_places(const Machine& machine) {
  std::vector<std::string> names;
  for (int gpu = 0; gpu < machine.gpu_count(); ++gpu) names.push_back(to_string(peerlane::gpu(gpu)));
  names.emplace_back("host");
  for (const int node : machine.numa_nodes()) names.push_back(to_string(peerlane::host(node)));
  names.emplace_back("mem");
  return join(names, " or ");
}

Result<Place> read_place(Reader& reader, const std::string& text, const Machine& machine) {
  const std::string_view kind = reader.word();
  const auto unknown = [&](std::string_view index) {
    return refuse(text, fmt::format("'{}{}' is no place of {}", kind, index, machine.name),
                  fmt::format("say {}", good_places(machine)));
  };
  if (kind == "mem") return mem();
  if (kind != "gpu" && kind != "host") return unknown(reader.rest());
  const auto index = reader.number();
  if (kind == "host" && !index) return host();
  if (!index) return unknown(reader.rest());
  const auto number = static_cast<int>(std::min<std::uint64_t>(*index, 1'000'000));
  if (kind == "gpu") {
    if (machine.gpu(number) == nullptr) return unknown(fmt::format(":{}", *index));
    return gpu(number);
  }
  const auto nodes = machine.numa_nodes();
  if (std::ranges::find(nodes, number) == nodes.end()) return unknown(fmt::format(":{}", *index));
  return host(number);
}

/// "host" is any node and pageable memory too; "host:1" is that node alone.
bool is_at(Place pattern, Place place) {
  if (pattern == host()) return place.kind == PlaceKind::host || place.kind == PlaceKind::mem;
  return pattern == place;
}

}  // namespace

Result<void> Faults::add(const std::string& text, const Machine& machine) {
  Reader reader(text);
  const std::string_view kind_name = reader.word();
  const auto kind = std::ranges::find(kinds, kind_name, &std::pair<std::string_view, FaultKind>::first);
  if (kind == std::end(kinds)) {
    std::vector<std::string> names;
    for (const auto& [name, value] : kinds) names.emplace_back(name);
    return refuse(text, fmt::format("'{}' is no kind of fault", kind_name),
                  fmt::format("the form is {}; KIND is {}", form, join(names, " or ")));
  }
  Fault fault;
  fault.kind = kind->second;
  if (!reader.take(':')) {
    return refuse(text, fmt::format("'{}' is not told where", kind_name), fmt::format("the form is {}", form));
  }
  if (fault.kind == FaultKind::fail) {
    fault.call = reader.word();
    if (fault.call != host_pages_call && std::ranges::find(call_names, fault.call) == std::end(call_names)) {
      std::vector<std::string> names(std::begin(call_names), std::end(call_names));
      names.emplace_back(host_pages_call);
      return refuse(text, fmt::format("'{}' is no driver call", fault.call), "the calls are " + join(names));
    }
  } else {
    fault.to = PEERLANE_TRY(read_place(reader, text, machine));
    if (reader.take('>')) {
      fault.from = fault.to;
      fault.to = PEERLANE_TRY(read_place(reader, text, machine));
    }
    if (fault.kind == FaultKind::lost && (fault.from || fault.to.kind != PlaceKind::gpu)) {
      return refuse(text, "only a GPU can be lost", "say lost:gpu:0");
    }
  }
  if (!reader.done()) {
    const auto nth = reader.number();
    if (!nth || *nth == 0 || !reader.done()) {
      return refuse(text, fmt::format("'{}' is no count", reader.rest().substr(reader.rest().starts_with(':') ? 1 : 0)),
                    "N is 1 for the first time, 2 for the second, and so on");
    }
    fault.nth = *nth;
  }
  any_stale_ |= fault.kind == FaultKind::stale;
  faults_.push_back(std::move(fault));
  return {};
}

bool Faults::matches(const Fault& fault, std::span<const Way> ways, int gpu) {
  if (fault.kind == FaultKind::fail || fault.kind == FaultKind::lost) return false;
  if (fault.from) {
    return std::ranges::any_of(ways, [&](const Way& w) { return is_at(*fault.from, w.from) && is_at(fault.to, w.to); });
  }
  if (fault.to == peerlane::gpu(gpu)) return true;
  return std::ranges::any_of(ways, [&](const Way& w) { return is_at(fault.to, w.from) || is_at(fault.to, w.to); });
}

Effects Faults::strike(std::span<const Way> ways, int gpu) {
  Effects effects;
  for (Fault& fault : faults_) {
    if (!matches(fault, ways, gpu) || !due(fault)) continue;
    effects.corrupt |= fault.kind == FaultKind::corrupt;
    effects.drop |= fault.kind == FaultKind::drop;
    effects.misdirect |= fault.kind == FaultKind::misdirect;
    effects.mirror |= fault.kind == FaultKind::mirror;
    effects.stale |= fault.kind == FaultKind::stale;
    effects.stuck |= fault.kind == FaultKind::stuck;
  }
  return effects;
}

bool Faults::lose(int gpu) {
  bool lost = false;
  for (Fault& fault : faults_) {
    if (fault.kind != FaultKind::lost || fault.to != peerlane::gpu(gpu)) continue;
    lost |= ++fault.seen >= fault.nth;
  }
  return lost;
}

bool Faults::lost_from_start(int gpu) const {
  return std::ranges::any_of(faults_, [&](const Fault& fault) {
    return fault.kind == FaultKind::lost && fault.to == peerlane::gpu(gpu) && fault.nth == 0;
  });
}

bool Faults::fails(std::string_view call) {
  bool failing = false;
  for (Fault& fault : faults_) {
    if (fault.kind == FaultKind::fail && fault.call == call) failing |= due(fault);
  }
  return failing;
}

}  // namespace peerlane::sim

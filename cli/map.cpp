#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.hpp"
#include "base/try.hpp"
#include "map_facts.hpp"
#include "open.hpp"
#include "print/output.hpp"
#include "print/tables.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

namespace {

constexpr Bytes usual_size = 1_GiB;
constexpr int most_gpus_beside_hosts = 4;
constexpr std::size_t most_reasons = 6;

// --- the line that says which machine this is ---

std::string gpus_text(const Machine& machine) {
  std::vector<std::pair<std::string, int>> models;
  for (int ordinal = 0; ordinal < machine.gpu_count(); ++ordinal) {
    const Node* gpu = machine.gpu(ordinal);
    const auto name = gpu == nullptr || gpu->name.empty() ? std::string("GPU of unknown name") : gpu->name;
    const auto known = std::ranges::find(models, name, &std::pair<std::string, int>::first);
    known == models.end() ? static_cast<void>(models.emplace_back(name, 1)) : static_cast<void>(++known->second);
  }
  std::vector<std::string> texts;
  for (const auto& [name, count] : models) texts.push_back(fmt::format("{} × {}", count, name));
  return texts.empty() ? "no GPU" : join(texts);
}

std::string headline(const Machine& machine, bool simulated) {
  std::vector<std::string> facts{visible(machine.name)};
  if (simulated) facts.emplace_back("simulated");
  facts.push_back(gpus_text(machine));
  if (!machine.driver.empty()) facts.push_back("driver " + machine.driver);
  if (const int version = machine.cuda_version; version > 0) {
    facts.push_back(fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10));
  }
  return fmt::format("{}\n", fmt::join(facts, " · "));
}

// --- the roads ---

std::vector<Place> gpus_of(const Machine& machine) {
  std::vector<Place> places;
  for (int ordinal = 0; ordinal < machine.gpu_count(); ++ordinal) places.push_back(gpu(ordinal));
  return places;
}

std::vector<Place> hosts_of(const Machine& machine) {
  std::vector<Place> places;
  for (const int node : machine.numa_nodes()) places.push_back(host(node));
  if (places.empty()) places.push_back(host());
  return places;
}

/// "PCIe5", "C2C": what a GPU hangs from, towards the host.
std::string host_letters(const Machine& machine, int ordinal) {
  const auto node = machine.find(NodeKind::gpu, ordinal);
  std::string letters;
  for (const auto& link : machine.links) {
    const bool ours = node && (link.a == *node || link.b == *node);
    if (ours && link.kind == LinkKind::c2c) return "C2C";
    if (ours && link.kind == LinkKind::pcie) {
      letters = link.generation > 0 ? fmt::format("PCIe{}", link.generation) : "PCIe";
    }
  }
  return letters;
}

std::string pair_mark(const Pair& pair) {
  switch (pair.access) {
    case Claim::yes:
      return "?";
    case Claim::no:
      return "✗";
    case Claim::unknown:
      return "";
  }
  return "";
}

/// In GB/s; empty where no road leads there.
std::string best_rate(const Session& session, Place from, Place to, Bytes bytes) {
  const auto plan = session.plan(from, to, bytes);
  if (!plan || plan->expected_s <= 0) return "";
  const double gigabytes = static_cast<double>(bytes) / plan->expected_s / 1e9;
  return gigabytes < 9.95 ? fmt::format("{:.1f}", gigabytes) : fmt::format("{:.0f}", gigabytes);
}

/// What the hardware has between the two, before any choice.
Cell standing(const Machine& machine, Place from, Place to) {
  const bool from_gpu = from.kind == PlaceKind::gpu;
  const bool to_gpu = to.kind == PlaceKind::gpu;
  if (from_gpu && to_gpu) {
    const Pair* pair = machine.pair(from.index, to.index);
    return pair == nullptr ? Cell{} : Cell{pair->letters, "", pair_mark(*pair)};
  }
  if (from_gpu || to_gpu) return {host_letters(machine, from_gpu ? from.index : to.index), "", "?"};
  return {"CPU", "", ""};
}

class Roads {
 public:
  Roads(const Session& session, Bytes bytes) : session_(session), bytes_(bytes) {}

  std::string text() const {
    auto gpus = gpus_of(session_.machine());
    const auto hosts = hosts_of(session_.machine());
    if (std::ssize(gpus) > most_gpus_beside_hosts)
      return to_text(between(gpus, "gpu:")) + "\n" + to_text(ends(gpus, hosts));
    gpus.insert(gpus.end(), hosts.begin(), hosts.end());
    return to_text(between(gpus, ""));
  }

 private:
  Cell cell(Place from, Place to) const {
    if (from == to) return {"", "", "", true};
    auto cell = standing(session_.machine(), from, to);
    cell.rate = best_rate(session_, from, to, bytes_);
    return cell;
  }

  Table between(const std::vector<Place>& places, std::string kind) const {
    Table table;
    table.kind = std::move(kind);
    for (const auto from : places) {
      table.rows.push_back(to_string(from));
      table.columns.push_back(to_string(from));
      auto& row = table.cells.emplace_back();
      for (const auto to : places) row.push_back(cell(from, to));
    }
    return table;
  }

  /// Between GPUs and hosts both ways look alike on most machines: one column shows them.
  Table ends(const std::vector<Place>& gpus, const std::vector<Place>& hosts) const {
    Table table;
    for (const auto host : hosts) table.columns.push_back(to_string(host));
    for (const auto gpu : gpus) {
      table.rows.push_back(to_string(gpu));
      auto& row = table.cells.emplace_back();
      for (const auto host : hosts) row.push_back(both_ways(gpu, host));
    }
    return table;
  }

  Cell both_ways(Place gpu, Place host) const {
    auto there = cell(gpu, host);
    const auto back = cell(host, gpu).rate;
    if (there.rate != back) there.rate += "/" + back;
    return there;
  }

  const Session& session_;
  Bytes bytes_;
};

std::string legend(const Session& session, Bytes bytes) {
  const bool both_ways_in_one = session.machine().gpu_count() > most_gpus_beside_hosts;
  return fmt::format(
      "  GB/s from row to column{}, expected of the best road for {}{}\n"
      "  ✓ verified  ? claimed  ✗ closed, the rate is that of the way around\n",
      both_ways_in_one ? " (a/b: there and back)" : "", format_bytes(bytes), session.simulated() ? " (simulated)" : "");
}

/// A single place has no road to show.
std::string roads(const Session& session, Bytes bytes) {
  const auto& machine = session.machine();
  const auto places = gpus_of(machine).size() + hosts_of(machine).size();
  return places < 2 ? std::string() : "\n" + Roads(session, bytes).text() + legend(session, bytes);
}

// --- what is closed, and what is not known ---

struct Closed {
  std::string sentence;
  std::vector<const Pair*> pairs;
};

/// A pair's sentence names its GPUs; without the names the same reason of many pairs is said once.
std::string without_names(const Pair& pair) {
  auto sentence = pair.why_not;
  for (const auto& [one, other] : {std::pair(pair.from, pair.to), std::pair(pair.to, pair.from)}) {
    const auto names = fmt::format("gpu:{} and gpu:{} ", one, other);
    if (const auto at = sentence.find(names); at != std::string::npos) sentence.replace(at, names.size(), "the two ");
  }
  return sentence;
}

std::vector<Closed> closed_roads(const Machine& machine) {
  std::vector<Closed> closed;
  for (const auto& pair : machine.pairs) {
    if (pair.access != Claim::no || pair.why_not.empty()) continue;
    const auto sentence = without_names(pair);
    auto known = std::ranges::find(closed, sentence, &Closed::sentence);
    if (known == closed.end()) known = closed.insert(closed.end(), {sentence, {}});
    known->pairs.push_back(&pair);
  }
  return closed;
}

std::string closed_text(const Closed& closed) {
  const auto& first = *closed.pairs.front();
  const auto name = hop_name(to_string(gpu(first.from)), to_string(gpu(first.to)));
  const auto others = closed.pairs.size() - 1;
  const auto more = others == 0 ? "" : fmt::format(" and {} more {}", others, others == 1 ? "pair" : "pairs");
  return fmt::format("  closed  {}{}: {}\n", name, more, closed.sentence);
}

std::string remarks(const Machine& machine) {
  std::string text;
  const auto closed = closed_roads(machine);
  for (const auto& reason : closed | std::views::take(most_reasons)) text += closed_text(reason);
  if (closed.size() > most_reasons) {
    text += fmt::format("  closed  {} more reasons; --json has them all\n", closed.size() - most_reasons);
  }
  for (const auto& note : machine.notes) text += fmt::format("  note    {}\n", note);
  return text.empty() ? text : "\n" + text;
}

}  // namespace

Result<void> run_map(const Request& request) {
  const Bytes bytes = request.size.value_or(usual_size);
  if (bytes == 0) return fail(ErrorKind::invalid_argument, "no bytes have no rate", "--size 0");
  const auto session = PEERLANE_TRY(open_session(request));
  const auto& machine = session.machine();
  if (request.json) return write_document(to_json(machine));
  const auto plans = plans_between_gpus(session, bytes);
  return write_out(headline(machine, session.simulated()) + roads(session, bytes) + truths(machine, plans) +
                   nearest_nics(machine) + shared_segments(machine, plans) + remarks(machine));
}

}  // namespace peerlane::cli

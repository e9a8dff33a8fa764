#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.hpp"
#include "base/try.hpp"
#include "print/output.hpp"
#include "print/tables.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

namespace {

constexpr Bytes usual_size = 1_GiB;
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

// --- the matrix ---

std::vector<Place> places_of(const Machine& machine) {
  std::vector<Place> places;
  for (int ordinal = 0; ordinal < machine.gpu_count(); ++ordinal) places.push_back(gpu(ordinal));
  for (const int node : machine.numa_nodes()) places.push_back(host(node));
  if (machine.numa_nodes().empty()) places.push_back(host());
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

std::string best_rate(const Session& session, Place from, Place to, Bytes bytes) {
  const auto plan = session.plan(from, to, bytes);
  if (!plan || plan->expected_s <= 0) return "";
  const double gigabytes = static_cast<double>(bytes) / plan->expected_s / 1e9;
  return gigabytes < 9.95 ? fmt::format("{:.1f}", gigabytes) : fmt::format("{:.0f}", gigabytes);
}

Cell gpu_cell(const Machine& machine, Place from, Place to) {
  const Pair* pair = machine.pair(from.index, to.index);
  return pair == nullptr ? Cell{} : Cell{pair->letters, "", pair_mark(*pair)};
}

Cell cell(const Session& session, Place from, Place to, Bytes bytes) {
  const auto& machine = session.machine();
  const bool from_gpu = from.kind == PlaceKind::gpu;
  const bool to_gpu = to.kind == PlaceKind::gpu;
  Cell cell;
  if (from_gpu && to_gpu) {
    cell = gpu_cell(machine, from, to);
  } else if (from_gpu || to_gpu) {
    cell = {host_letters(machine, from_gpu ? from.index : to.index), "", "?"};
  } else {
    cell = {"CPU", "", ""};
  }
  cell.rate = best_rate(session, from, to, bytes);
  return cell;
}

std::string roads(const Session& session, Bytes bytes) {
  const auto places = places_of(session.machine());
  std::vector<std::string> names;
  std::vector<std::vector<Cell>> cells;
  for (const auto from : places) {
    names.push_back(to_string(from));
    auto& row = cells.emplace_back();
    for (const auto to : places) row.push_back(from == to ? Cell{} : cell(session, from, to, bytes));
  }
  return matrix(names, cells) + fmt::format(
                                    "  GB/s from row to column, the best road for {}, expected{} · "
                                    "✓ verified  ? claimed  ✗ closed: the way around\n",
                                    format_bytes(bytes), session.simulated() ? " (simulated)" : "");
}

// --- what is closed, and what is not known ---

struct Closed {
  std::string sentence;
  std::vector<const Pair*> pairs;
};

std::vector<Closed> closed_roads(const Machine& machine) {
  std::vector<Closed> closed;
  for (const auto& pair : machine.pairs) {
    if (pair.access != Claim::no || pair.why_not.empty()) continue;
    auto known = std::ranges::find(closed, pair.why_not, &Closed::sentence);
    if (known == closed.end()) known = closed.insert(closed.end(), {pair.why_not, {}});
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
  const auto session = PEERLANE_TRY(Session::open(request.options));
  const auto& machine = session.machine();
  if (request.json) return write_document(to_json(machine));
  return write_out(headline(machine, session.simulated()) + "\n" + roads(session, bytes) + remarks(machine));
}

}  // namespace peerlane::cli

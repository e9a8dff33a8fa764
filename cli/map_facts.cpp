#include "map_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/text.hpp"
#include "print/tables.hpp"

namespace peerlane::cli {

namespace {

constexpr std::size_t most_segments = 12;
constexpr std::string_view not_known = "–";

std::string claim_word(const Pair& pair) {
  switch (pair.access) {
    case Claim::yes:
      return "open";
    case Claim::no:
      return "closed";
    case Claim::unknown:
      return std::string(not_known);
  }
  return "";
}

/// "copy engine", "copy engine via gpu:1", "pinned DMA via host:0".
std::string road_words(const Plan& plan) {
  const Route& route = plan.routes.front();
  std::vector<std::string> between;
  const auto places = route.places();
  for (std::size_t i = 1; i + 1 < places.size(); ++i) between.push_back(to_string(places[i]));
  const Hop& first = route.hops.front();
  return between.empty() ? fmt::format("{}, {}", first.lane, first.via)
                         : fmt::format("through {}", peerlane::join(between));
}

/// Roads through different places are of one kind all the same.
std::string kind_of_road(const Plan& plan) {
  const Route& route = plan.routes.front();
  if (route.hops.size() == 1) return road_words(plan);
  const bool through_gpu = route.places()[1].kind == PlaceKind::gpu;
  return through_gpu ? "relayed over a GPU with links to both" : "staged through the host";
}

struct Alike {
  std::string letters, claimed, road;
  double least = 0, most = 0;
  int count = 0;
  Place from, to;
};

std::string rate_words(const Alike& alike) {
  const auto in_gigabytes = [](double rate) {
    return rate < 9.95e9 ? fmt::format("{:.1f}", rate / 1e9) : fmt::format("{:.0f}", rate / 1e9);
  };
  const std::string least = in_gigabytes(alike.least), most = in_gigabytes(alike.most);
  return least == most ? least + " GB/s" : fmt::format("{}–{} GB/s", least, most);
}

std::string rows_to_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    text += " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += " " + (i + 1 == row.size() ? row[i] : pad_right(row[i], widths[i] + 1));
    }
    text += "\n";
  }
  return text;
}

std::string gpus_text(const std::set<int>& ordinals) {
  std::vector<std::string> names;
  for (auto first = ordinals.begin(); first != ordinals.end();) {
    auto last = first;
    while (std::next(last) != ordinals.end() && *std::next(last) == *last + 1) ++last;
    names.push_back(first == last ? fmt::format("{}", *first) : fmt::format("{}–{}", *first, *last));
    first = std::next(last);
  }
  return "gpu:" + peerlane::join(names);
}

}  // namespace

std::vector<Plan> plans_between_gpus(const Session& session, Bytes bytes) {
  std::vector<Plan> plans;
  const int count = session.machine().gpu_count();
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      if (auto plan = session.plan(gpu(from), gpu(to), bytes); plan && plan->expected_s > 0) {
        plans.push_back(std::move(*plan));
      }
    }
  }
  return plans;
}

std::string truths(const Machine& machine, const std::vector<Plan>& plans) {
  std::vector<Alike> kinds;
  for (const Plan& plan : plans) {
    const Pair* pair = machine.pair(plan.from.index, plan.to.index);
    const std::string letters = pair == nullptr || pair->letters.empty() ? std::string(not_known) : pair->letters;
    const std::string claimed = pair == nullptr ? std::string(not_known) : claim_word(*pair);
    const std::string road = kind_of_road(plan);
    const double rate = static_cast<double>(plan.bytes) / plan.expected_s;
    auto known = std::ranges::find_if(kinds, [&](const Alike& kind) {
      return kind.letters == letters && kind.claimed == claimed && kind.road == road;
    });
    if (known == kinds.end()) {
      known = kinds.insert(kinds.end(), {letters, claimed, road, rate, rate, 0, plan.from, plan.to});
    }
    known->least = std::min(known->least, rate);
    known->most = std::max(known->most, rate);
    ++known->count;
  }
  if (kinds.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"pairs", "letters", "claimed", "verified", "measured", "expected", "best road"}};
  for (const Alike& kind : kinds) {
    const std::string more = kind.count == 1 ? "" : fmt::format(" and {} more", kind.count - 1);
    rows.push_back({fmt::format("{} → {}{}", to_string(kind.from), to_string(kind.to), more), kind.letters,
                    kind.claimed, std::string(not_known), std::string(not_known), rate_words(kind), kind.road});
  }
  return "\n" + rows_to_text(rows);
}

std::string nearest_nics(const Machine& machine) {
  std::vector<std::string> names;
  for (const Node& node : machine.nodes) {
    if (node.kind != NodeKind::nic) continue;
    if (node.index >= std::ssize(names)) names.resize(node.index + 1);
    names[node.index] = node.name.empty() ? node.id() : visible(node.name);
  }
  if (names.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"GPU", "nearest", "NICs"}};
  for (int ordinal = 0; ordinal < machine.gpu_count(); ++ordinal) {
    const NearestNics nearest = machine.nearest_nics(ordinal);
    std::vector<std::string> nics;
    for (const int nic : nearest.nics) nics.push_back(names[nic]);
    const bool known = !nearest.letters.empty();
    rows.push_back({to_string(gpu(ordinal)), known ? nearest.letters : std::string(not_known),
                    known ? peerlane::join(nics) : "not known: the place of some NIC is not said"});
  }
  return rows.size() == 1 ? "" : "\n" + rows_to_text(rows);
}

std::string shared_segments(const Machine& machine, const std::vector<Plan>& plans) {
  struct Users {
    std::set<int> from, to;
    std::size_t pairs = 0;
    double least_rate = std::numeric_limits<double>::infinity();

    /// What so many copies at once want, each pair's ends being busy with one.
    double demand() const { return static_cast<double>(std::min(from.size(), to.size())) * least_rate; }
  };
  std::map<int, Users> users;
  for (const Plan& plan : plans) {
    std::set<int> taken;
    for (const Route& route : plan.routes) {
      for (const Hop& hop : route.hops) taken.insert(hop.segments.begin(), hop.segments.end());
    }
    for (const int segment : taken) {
      Users& here = users[segment];
      here.from.insert(plan.from.index);
      here.to.insert(plan.to.index);
      ++here.pairs;
      here.least_rate = std::min(here.least_rate, static_cast<double>(plan.bytes) / plan.expected_s);
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [segment, who] : users) {
    const Link& link = machine.links[std::abs(segment) - 1];
    const Node &a = machine.nodes[segment > 0 ? link.a : link.b], &b = machine.nodes[segment > 0 ? link.b : link.a];
    const bool own = a.kind == NodeKind::gpu || b.kind == NodeKind::gpu;
    // Two copies can only meet where both their ends differ, and a wide link has room for them.
    if (own || std::min(who.from.size(), who.to.size()) < 2 || who.demand() <= link.bytes_per_s) continue;
    rows.push_back({fmt::format("{} → {}", a.id(), b.id()), fmt::format("{:.0f} GB/s", link.bytes_per_s / 1e9),
                    fmt::format("{} pairs, from {} to {}", who.pairs, gpus_text(who.from), gpus_text(who.to))});
  }
  if (rows.empty()) return "";
  const std::size_t left_out = rows.size() > most_segments ? rows.size() - most_segments : 0;
  rows.resize(rows.size() - left_out);
  rows.insert(rows.begin(), {"shared segment", "carries", "fought for by"});
  std::string text = "\n" + rows_to_text(rows);
  if (left_out > 0) text += fmt::format("  and {} more shared segments\n", left_out);
  return text;
}

}  // namespace peerlane::cli

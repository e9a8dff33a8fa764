/// A plan as people read it.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "plan/words.hpp"

namespace peerlane {
namespace {

using planner::arrow;
using planner::in_words;

constexpr std::size_t gap = 3;

/// Columns on a terminal: every code point that we print takes one.
std::size_t width(std::string_view text) {
  auto starts_a_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_a_character));
}

std::string padded(std::string text, std::size_t columns) {
  text.append(columns - std::min(columns, width(text)), ' ');
  return text;
}

std::string right(std::string text, std::size_t columns) {
  return std::string(columns - std::min(columns, width(text)), ' ') + text;
}

/// A line with figures in columns at its end.
struct Row {
  std::string words;
  std::string seconds;
  std::string rate;
};

Row to_row(std::string words, const Route& route) {
  return {std::move(words), format_seconds(route.expected_s), format_rate(route.expected_bytes_per_s)};
}

/// "  takes    " before the first line of a block, blanks before the rest.
std::string margin(std::string_view word) {
  return "  " + padded(std::string(word), 9);
}

std::vector<Row> figures(const Plan& plan) {
  std::vector<Row> rows;
  const std::string title = fmt::format("{} → {}   {}", plan.from_name, plan.to_name, format_bytes(plan.bytes));
  rows.push_back({title, format_seconds(plan.expected_s), ""});
  if (plan.expected_s > 0) rows.front().rate = format_rate(static_cast<double>(plan.bytes) / plan.expected_s);
  for (const Route& route : plan.next)
    rows.push_back(to_row(margin(rows.size() == 1 ? "next" : "") + in_words(route), route));
  return rows;
}

template <class Column>
std::size_t widest(const std::vector<Row>& rows, Column column) {
  std::size_t columns = 0;
  for (const Row& row : rows) columns = std::max(columns, width(row.*column));
  return columns;
}

/// The first row is the title: its figures are what is expected.
std::vector<std::string> aligned(const std::vector<Row>& rows) {
  const std::size_t words = widest(rows, &Row::words) + gap;
  const std::size_t seconds = widest(rows, &Row::seconds);
  const std::size_t rate = widest(rows, &Row::rate);
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line =
        padded(row.words, words) + (lines.empty() ? "expected " : "         ") + right(row.seconds, seconds);
    if (rate > 0) line += std::string(gap, ' ') + right(row.rate, rate);
    lines.push_back(std::move(line));
  }
  return lines;
}

/// "host:0" between the ends, the name that was asked for at the end.
std::string end_of(const Plan& plan, const Route& route, const Hop& hop) {
  return &hop == &route.hops.back() ? plan.to_name : to_string(hop.to);
}

std::string rings(const Route& route) {
  std::vector<std::string> stops;
  for (std::size_t i = 0; i + 1 < route.hops.size(); ++i) stops.push_back(to_string(route.hops[i].to));
  return fmt::format("chunks of {}, {} slots at {}", format_bytes(route.chunk), route.slots, join(stops));
}

std::string taken(const Plan& plan, const Route& route) {
  if (route.hops.size() == 1) return margin("takes") + in_words(route) + "\n";
  std::string text;
  for (const Hop& hop : route.hops) {
    text += margin(text.empty() ? "takes" : "");
    text += fmt::format("{} to {}, {}\n", hop.lane, end_of(plan, route, hop), hop.via);
  }
  return text + margin("") + rings(route) + "\n";
}

std::string closed(const std::vector<Refusal>& refused) {
  std::size_t pair = 0, lane = 0;
  for (const Refusal& refusal : refused) {
    pair = std::max(pair, width(arrow(refusal.from, refusal.to)) + gap);
    lane = std::max(lane, width(refusal.lane) + gap);
  }
  std::string text;
  for (const Refusal& refusal : refused) {
    text += margin(text.empty() ? "closed" : "") + padded(arrow(refusal.from, refusal.to), pair) +
            padded(refusal.lane, lane) + refusal.reason + "\n";
  }
  return text;
}

}  // namespace

std::string to_text(const Plan& plan) {
  const std::vector<std::string> lines = aligned(figures(plan));
  std::string text =
      lines.front() + (plan.simulated ? "   (simulated machine, assumed rates)\n" : "   (assumed rates)\n");
  for (const Route& route : plan.routes) text += taken(plan, route);
  for (std::size_t i = 1; i < lines.size(); ++i) text += lines[i] + "\n";
  text += closed(plan.refused);
  const bool said_already = !plan.refused.empty();  // the reason of the fallback stands under "closed"
  if (!plan.fallback.empty() && !said_already) text += margin("note") + plan.fallback + "\n";
  return text;
}

}  // namespace peerlane

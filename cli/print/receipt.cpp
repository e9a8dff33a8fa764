#include "receipt.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "../request.hpp"
#include "base/text.hpp"
#include "tables.hpp"

namespace peerlane::cli {

namespace {

constexpr std::string_view nothing = "–";

void add_once(std::vector<std::string>& words, std::string word) {
  const bool news = !word.empty() && std::ranges::find(words, word) == words.end();
  if (news) words.push_back(std::move(word));
}

std::vector<std::string> lane_names(const ReceiptRoute& route) {
  std::vector<std::string> lanes;
  for (const auto& lane : route.lanes) add_once(lanes, lane);
  return lanes;
}

std::vector<std::string> places_between(const ReceiptRoute& route) {
  std::vector<std::string> between;
  for (std::size_t i = 1; i + 1 < route.places.size(); ++i) between.push_back(to_string(route.places[i]));
  return between;
}

/// What carries the route, by the plan that has the same places.
std::vector<std::string> carriers(const ReceiptRoute& route, const Plan& plan) {
  const auto planned =
      std::ranges::find_if(plan.routes, [&](const Route& other) { return other.places() == route.places; });
  std::vector<std::string> vias;
  if (planned == plan.routes.end()) return vias;
  for (const auto& hop : planned->hops) add_once(vias, hop.via);
  return vias;
}

std::string describe(const ReceiptRoute& route, const Plan& plan) {
  auto text = join(lane_names(route), " + ");
  if (const auto between = places_between(route); !between.empty()) text += " through " + join(between);
  for (const auto& via : carriers(route, plan)) text += ", " + via;
  return text;
}

std::string percent_of_expected(const Receipt& receipt) {
  if (receipt.seconds <= 0 || receipt.expected_seconds <= 0) return std::string(nothing);
  return fmt::format("{:.0f} %", receipt.expected_seconds / receipt.seconds * 100);
}

}  // namespace

std::string how(const Receipt& receipt, const Plan& plan) {
  std::vector<std::string> routes;
  for (const auto& route : receipt.routes) routes.push_back(describe(route, plan));
  return fmt::format("{}", fmt::join(routes, "; "));
}

std::string receipt_row(const Receipt& receipt, const Plan& plan, std::size_t hop_width) {
  const bool timed = receipt.seconds > 0;
  const auto time = timed ? format_seconds(receipt.seconds) : std::string(nothing);
  const bool has_rate = timed && receipt.bytes > 0;
  const auto rate = has_rate ? format_rate(receipt.bytes_per_s()) : std::string(nothing);
  auto row = fmt::format("  {}  {}  {}  {}  {}  {}\n",
                         pad_right(hop_name(visible(receipt.from_name), visible(receipt.to_name)), hop_width),
                         pad_left(format_bytes(receipt.bytes), 10), pad_left(time, 8), pad_left(rate, 9),
                         pad_left(percent_of_expected(receipt), 6), how(receipt, plan));
  if (!receipt.fallback.empty()) row += fmt::format("    fallback: {}\n", receipt.fallback);
  return row;
}

std::string digest_text(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

std::string digest_row(std::uint64_t digest, std::size_t places) {
  const auto where = places == 2 ? std::string("both places") : fmt::format("all {} places", places);
  return fmt::format("  digest {}, equal at {}\n", digest_text(digest), where);
}

}  // namespace peerlane::cli

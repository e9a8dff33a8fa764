#include "plan/pipeline.hpp"

#include <algorithm>
#include <cstdint>

#include "plan/planner.hpp"

namespace peerlane::planner {
namespace {

double per_byte(const Hop& hop) {
  return hop.cost.bytes_per_s > 0 ? 1 / hop.cost.bytes_per_s : 0;
}

bool uses(const Hop& hop, int segment) {
  return std::ranges::find(hop.segments, segment) != hop.segments.end();
}

/// One bit for every hop that takes this segment.
std::uint64_t users_of(int segment, std::span<const Hop* const> hops) {
  std::uint64_t users = 0;
  for (std::size_t i = 0; i < hops.size(); ++i) users |= std::uint64_t{uses(*hops[i], segment)} << i;
  return users;
}

}  // namespace

Pipeline::Pipeline(std::span<const Hop* const> hops) {
  loads_.reserve(hops.size());
  for (const Hop* hop : hops) load_hop(*hop);
  load_shared_segments(hops);
}

void Pipeline::load_hop(const Hop& hop) {
  if (hop.drive == Drive::device_ordered) {
    passage_.add(hop.cost.fixed_s, per_byte(hop));
    loads_.push_back({hop.cost.fixed_s, per_byte(hop), 1});
    return;
  }
  const int workers = std::max(hop.workers, 1);
  passage_.add(hop.cost.fixed_s, per_byte(hop) * workers);  // one worker carries a chunk alone
  workers_.add(hop.cost.fixed_s / workers, per_byte(hop));
  workers_.servers = std::min(workers_.servers, workers);
}

void Pipeline::load_shared_segments(std::span<const Hop* const> hops) {
  std::vector<std::uint64_t> seen;
  for (const Hop* hop : hops) {
    for (int segment : hop->segments) {
      const std::uint64_t users = users_of(segment, hops);
      const bool shared = (users & (users - 1)) != 0;
      if (!shared || std::ranges::find(seen, users) != seen.end()) continue;
      seen.push_back(users);
      Load load;
      for (std::size_t i = 0; i < hops.size(); ++i) {
        if (users >> i & 1) load.add(hops[i]->cost.fixed_s, per_byte(*hops[i]));
      }
      loads_.push_back(load);
    }
  }
}

double Pipeline::seconds(Bytes bytes, Bytes chunk) const {
  if (bytes == 0) return 0;
  if (chunk == 0 || bytes <= chunk) return passage_.seconds(bytes);

  const Bytes chunks = (bytes - 1) / chunk + 1;
  const Bytes last = bytes - (chunks - 1) * chunk;
  auto after_the_first = [&](const Load& load) {
    const auto at_once = static_cast<Bytes>(load.servers);
    if (chunks <= at_once) return 0.0;
    return static_cast<double>(chunks - 1 - at_once) * load.seconds(chunk) + load.seconds(last);
  };
  double pace = after_the_first(workers_);
  for (const Load& load : loads_) pace = std::max(pace, after_the_first(load));
  return passage_.seconds(chunk) + pace;
}

double pipelined_seconds(std::span<const Hop> hops, Bytes bytes, Bytes chunk) {
  std::vector<const Hop*> in_a_row;
  in_a_row.reserve(hops.size());
  for (const Hop& hop : hops) in_a_row.push_back(&hop);
  return Pipeline(in_a_row).seconds(bytes, chunk);
}

}  // namespace peerlane::planner

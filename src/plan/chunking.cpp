#include "plan/chunking.hpp"

#include <algorithm>
#include <cstdint>

#include "plan/pipeline.hpp"

namespace peerlane::planner {
namespace {

constexpr Bytes page = 4_KiB;  // what O_DIRECT and huge rings of equal slots both like
constexpr Bytes least_staged = 256_KiB, most_staged = 16_MiB;
constexpr Bytes least_worked = 1_MiB, most_worked = 4_MiB;  // small enough to share among workers and to cancel between
constexpr int fewest_slots = 2, usual_slots = 4;

/// Chunk sizes to try, each a power of two times the one before, all with the same number of slots.
struct Choices {
  Bytes least = 0;
  Bytes most = 0;
  int slots = 0;
};

int workers_of(std::span<const Hop* const> hops) {
  int workers = 0;
  for (const Hop* hop : hops) {
    if (hop->drive == Drive::host_progressed) workers = std::max(workers, hop->workers);
  }
  return workers;
}

/// Every worker fills or drains a slot of its own while the device hop holds two more.
int wanted_slots(std::span<const Hop* const> hops) {
  const int workers = workers_of(hops);
  return workers > 0 ? std::max(usual_slots, workers + 2) : usual_slots;
}

std::optional<Choices> staged_choices(std::span<const Hop* const> hops, Bytes staging) {
  const Bytes per_ring = staging / (hops.size() - 1);
  const int wanted = wanted_slots(hops);
  const Bytes roomy = per_ring / static_cast<Bytes>(wanted);
  if (roomy >= least_staged) return Choices{least_staged, std::min(roomy, most_staged), wanted};

  const Bytes tight = std::min(per_ring / fewest_slots / page * page, least_staged);
  if (tight == 0) return std::nullopt;
  return Choices{tight, tight, static_cast<int>(std::min<Bytes>(per_ring / tight, static_cast<Bytes>(wanted)))};
}

std::optional<Choices> choices(std::span<const Hop* const> hops, Bytes staging) {
  if (hops.size() > 1) return staged_choices(hops, staging);
  return Choices{least_worked, most_worked, 0};
}

/// At least one.
Bytes whole_pages(Bytes bytes) {
  return ((std::max<Bytes>(bytes, 1) - 1) / page + 1) * page;
}

/// A copy smaller than the chunk asks for no more ring than it fills.
Chunking fitted(Chunking chunking, Bytes bytes) {
  if (bytes <= chunking.chunk) chunking.chunk = std::min(chunking.chunk, whole_pages(bytes));
  const Bytes chunks = bytes == 0 ? 0 : (bytes - 1) / chunking.chunk + 1;
  const Bytes most = std::max<Bytes>(chunks, fewest_slots);
  if (chunking.slots > 0) chunking.slots = static_cast<int>(std::min<Bytes>(most, static_cast<Bytes>(chunking.slots)));
  return chunking;
}

}  // namespace

std::optional<Chunking> best_chunking(std::span<const Hop* const> hops, Bytes bytes, Bytes staging) {
  const Pipeline pipeline(hops);
  const bool one_step = hops.size() == 1 && hops.front()->drive == Drive::device_ordered;
  if (one_step) return Chunking{bytes > 0 ? bytes : page, 0, pipeline.seconds(bytes, bytes)};

  const auto sizes = choices(hops, staging);
  if (!sizes) return std::nullopt;
  Chunking best{sizes->least, sizes->slots, pipeline.seconds(bytes, sizes->least)};
  for (Bytes chunk = sizes->least * 2; chunk <= sizes->most; chunk *= 2) {
    const double seconds = pipeline.seconds(bytes, chunk);
    if (seconds < best.seconds) best = {chunk, sizes->slots, seconds};
  }
  return fitted(best, bytes);
}

}  // namespace peerlane::planner

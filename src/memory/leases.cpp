#include <algorithm>
#include <tuple>

#include "memory/memory.hpp"

namespace peerlane::memory {
namespace {

/// Addresses are unique in the process, GPUs included; offsets are unique within their file.
bool overlap(const Region& a, const Region& b) {
  return a.file == b.file && a.bytes > 0 && b.bytes > 0 && a.address < b.address + b.bytes &&
         b.address < a.address + a.bytes;
}

constexpr std::uint64_t ticket_id(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | slot;
}

}  // namespace

Leases::Ticket Leases::hold(const Region& region) {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    slots_.emplace_back();
    idle_.reserve(slots_.capacity());
    idle_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t index = idle_.back();
  idle_.pop_back();
  Slot& slot = slots_[index];
  slot.region = region;
  slot.live = true;
  return {ticket_id(index, slot.generation)};
}

void Leases::end(Ticket ticket) noexcept {
  {
    std::lock_guard lock(mutex_);
    const auto index = static_cast<std::uint32_t>(ticket.id);
    if (index >= slots_.size()) return;
    Slot& slot = slots_[index];
    if (!slot.live || ticket_id(index, slot.generation) != ticket.id) return;
    slot.live = false;
    if (++slot.generation == 0) slot.generation = 1;
    idle_.push_back(index);
  }
  // Outside the lock, one by one: giving memory back takes its time and may end other leases.
  while (const auto release = free_orphan()) release();
}

bool Leases::held_now(const Region& region) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot& slot) { return slot.live && overlap(slot.region, region); });
}

std::function<void()> Leases::free_orphan() {
  std::lock_guard lock(mutex_);
  const auto quiet =
      std::find_if(orphans_.begin(), orphans_.end(), [&](const Orphan& orphan) { return !held_now(orphan.region); });
  if (quiet == orphans_.end()) return {};
  auto release = std::move(quiet->release);
  orphans_.erase(quiet);
  return release;
}

bool Leases::holds(const Region& region) const {
  std::lock_guard lock(mutex_);
  return held_now(region);
}

Bytes Leases::held() const {
  std::vector<Region> regions;
  {
    std::lock_guard lock(mutex_);
    for (const Slot& slot : slots_) {
      if (slot.live && slot.region.bytes > 0) regions.push_back(slot.region);
    }
  }
  const auto place_in_order = [](const Region& region) { return std::tuple(region.file, region.address); };
  std::sort(regions.begin(), regions.end(),
            [&](const Region& a, const Region& b) { return place_in_order(a) < place_in_order(b); });
  Bytes total = 0;
  const File* file = nullptr;
  std::uint64_t counted_to = 0;
  for (const Region& region : regions) {
    if (region.file != file) counted_to = 0;
    file = region.file;
    const std::uint64_t end = region.address + region.bytes;
    if (end <= counted_to) continue;
    total += end - std::max(counted_to, region.address);
    counted_to = end;
  }
  return total;
}

bool Leases::take_over(const Region& region, std::function<void()> later) {
  std::lock_guard lock(mutex_);
  if (!held_now(region)) return false;
  if (!for_ever_) orphans_.push_back({region, std::move(later)});
  return true;
}

void Leases::never_give_back() noexcept {
  std::vector<Orphan> forgotten;  // dropped outside the lock: they may be the last to hold memory that looks here
  std::lock_guard lock(mutex_);
  for_ever_ = true;
  forgotten.swap(orphans_);
}

}  // namespace peerlane::memory

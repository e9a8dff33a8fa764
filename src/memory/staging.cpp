#include "memory/staging.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/text.hpp"
#include "base/try.hpp"

namespace peerlane::memory {
namespace {

struct Shape {
  Bytes slot_bytes;
  int slots;
  Bytes bytes() const { return slot_bytes * static_cast<Bytes>(slots); }
};

/// The next smaller ring: two slots are kept as long as possible, since with one the hops no longer overlap.
bool shrink(Shape& shape) {
  if (shape.slots > 2) {
    shape.slots = std::max(2, shape.slots / 2);
  } else if (shape.slot_bytes > Staging::smallest_slot) {
    const Bytes whole_pages = shape.slot_bytes / 2 / 4_KiB * 4_KiB;
    shape.slot_bytes = std::max(Staging::smallest_slot, whole_pages);
  } else if (shape.slots > 1) {
    shape.slots = 1;
  } else {
    return false;
  }
  return true;
}

Result<void> check_shape(Place place, const Shape& shape) {
  const bool sensible = shape.slots > 0 && shape.slot_bytes > 0 &&
                        shape.slot_bytes <= std::numeric_limits<Bytes>::max() / static_cast<Bytes>(shape.slots);
  if (sensible) return {};
  return fail(ErrorKind::invalid_argument,
              "a ring of " + std::to_string(shape.slots) + " slots of " + format_bytes(shape.slot_bytes) +
                  " was asked for, expected at least one slot and one byte",
              to_string(place));
}

}  // namespace

Staging::Staging(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {
  memory_->when_short([this] { return give_up_idle(); });
}

Staging::~Staging() {
  memory_->when_short(nullptr);
}

Result<Ring> Staging::borrow(Place place, Bytes slot_bytes, int slots) {
  Shape shape{slot_bytes, slots};
  PEERLANE_TRY(check_shape(place, shape));
  if (Buffer idle = idle_that_fits(place, shape.bytes()); idle.bytes() > 0) {
    return Ring(std::move(idle), shape.slot_bytes, shape.slots);
  }
  while (true) {
    Result<Buffer> buffer = memory_->allocate(place, shape.bytes());
    if (buffer) return Ring(*std::move(buffer), shape.slot_bytes, shape.slots);
    if (buffer.error().kind != ErrorKind::no_memory || !shrink(shape)) return tl::unexpected(std::move(buffer).error());
  }
}

/// The smallest one that is large enough.
Buffer Staging::idle_that_fits(Place place, Bytes bytes) {
  std::lock_guard lock(mutex_);
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    if (it->region().place != place || it->bytes() < bytes) continue;
    if (best == idle_.end() || it->bytes() < best->bytes()) best = it;
  }
  if (best == idle_.end()) return {};
  Buffer buffer = std::move(*best);
  idle_.erase(best);
  return buffer;
}

void Staging::give_back(Ring ring) noexcept {
  const Place place = ring.place();
  const bool lost = place.kind == PlaceKind::gpu && memory_->contexts().abandoned(place.index);
  if (!ring || lost) return;
  std::vector<Buffer> surplus;  // freed after the lock is left: giving pinned memory back takes milliseconds
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(ring.buffer_));
  while (idle_bytes() > most_idle) {
    surplus.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
}

bool Staging::give_up_idle() {
  std::vector<Buffer> all;
  {
    std::lock_guard lock(mutex_);
    all.swap(idle_);
  }
  return !all.empty();
}

Bytes Staging::idle() const {
  std::lock_guard lock(mutex_);
  return idle_bytes();
}

Bytes Staging::idle_bytes() const {
  return std::accumulate(idle_.begin(), idle_.end(), Bytes{0},
                         [](Bytes sum, const Buffer& buffer) { return sum + buffer.bytes(); });
}

}  // namespace peerlane::memory

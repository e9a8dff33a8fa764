#pragma once
/// Slots between hops: pinned host memory on a NUMA node, or memory of a GPU that relays. Kept and used again.

#include <memory>
#include <mutex>
#include <vector>

#include "memory/memory.hpp"

namespace peerlane::memory {

/// A ring of equal slots, one transfer's at a time.
class Ring {
 public:
  Ring() = default;
  Ring(Buffer buffer, Bytes slot_bytes, int slots)
      : buffer_(std::move(buffer)), slot_bytes_(slot_bytes), slots_(slots) {}
  Region slot(int i) const { return buffer_.region().slice(static_cast<Bytes>(i) * slot_bytes_, slot_bytes_); }
  int slots() const { return slots_; }
  Bytes slot_bytes() const { return slot_bytes_; }
  Place place() const { return buffer_.region().place; }
  Bytes bytes() const { return buffer_.bytes(); }
  const Region& region() const { return buffer_.region(); }
  explicit operator bool() const { return slots_ > 0; }

 private:
  friend class Staging;
  Buffer buffer_;
  Bytes slot_bytes_ = 0;
  int slots_ = 0;
};

class Staging {
 public:
  static constexpr Bytes smallest_slot = 64_KiB;
  static constexpr Bytes most_idle = 256_MiB;

  /// While it lives, the memory's allocations take its idle rings back before they fail.
  explicit Staging(std::shared_ptr<Memory> memory);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// An idle ring's memory if one fits, else a new one; when memory is short, smaller (at least one slot of 64 KiB),
  /// else the allocator's error. The caller owns it until it gives it back quiet.
  Result<Ring> borrow(Place place, Bytes slot_bytes, int slots);
  void give_back(Ring ring) noexcept;
  /// Bytes kept for the next borrower; at most `most_idle`.
  Bytes idle() const;

 private:
  Buffer idle_that_fits(Place place, Bytes bytes);
  bool give_up_idle();
  Bytes idle_bytes() const;

  std::shared_ptr<Memory> memory_;
  mutable std::mutex mutex_;
  std::vector<Buffer> idle_;  ///< longest idle first
};

}  // namespace peerlane::memory

#pragma once
/// A piece of address space. Reserved it faults at every touch; furnished it holds real, poisoned bytes.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "peerlane/units.hpp"

namespace peerlane::sim {

/// What memory that nobody has written reads as.
inline constexpr std::byte poison{0xD7};

class Reservation {
 public:
  Reservation() = default;
  /// Empty when the system has no such piece left. `alignment` is a power of two; large pieces are aligned to huge
  /// pages.
  static Reservation of(Bytes bytes, Bytes alignment = 1);
  Reservation(Reservation&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        written_(std::move(other.written_)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(written_, other.written_);
    return *this;
  }
  ~Reservation();

  /// Puts poisoned bytes there. They cost no memory until they are written.
  bool furnish();
  /// [at, at + bytes) is about to be written whole: what it holds need not be kept. Saves copying the poison.
  void expect_overwrite(const std::byte* at, Bytes bytes);
  /// Takes the bytes away; the addresses stay taken and fault.
  void clear();

  std::byte* data() const { return at_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(at_); }
  Bytes bytes() const { return bytes_; }
  explicit operator bool() const { return at_ != nullptr; }

 private:
  Reservation(std::byte* at, Bytes bytes) : at_(at), bytes_(bytes) {}
  std::byte* at_ = nullptr;
  Bytes bytes_ = 0;
  std::vector<bool> written_;  // huge pages that have been made for an overwrite
};

}  // namespace peerlane::sim

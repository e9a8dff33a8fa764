#pragma once
/// Plans that need no planning any more: one device-ordered hop between two places, for sizes of one power of two.
/// Found without a lock, never moved, never dropped before the session.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.hpp"

namespace peerlane::session {

class ShortWays {
 public:
  /// Makes the way for sizes [least, most], or null where the road is not a short one.
  using Make = std::function<std::unique_ptr<engine::ShortWay>(Bytes least, Bytes most)>;

  /// The known way, or null: unknown, or none.
  const engine::ShortWay* find(Place from, Place to, Bytes bytes) const {
    const std::uint64_t key = key_of(from, to, bytes);
    for (std::size_t i = slot_of(key);; i = (i + 1) % slots) {
      const Entry* entry = table_[i].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->key == key) return entry->way.get();
    }
  }

  /// Looks up or makes. Null where there is none.
  const engine::ShortWay* learn(Place from, Place to, Bytes bytes, const Make& make);

 private:
  struct Entry {
    std::uint64_t key;
    std::unique_ptr<engine::ShortWay> way;
  };
  static constexpr std::size_t slots = 4096;
  static constexpr std::size_t most_entries = slots / 2;

  static int size_class(Bytes bytes) { return bytes == 0 ? 0 : 64 - __builtin_clzll(bytes); }
  static std::uint64_t key_of(Place from, Place to, Bytes bytes) {
    const auto half = [](Place p) {
      return (static_cast<std::uint64_t>(p.kind) << 16) | static_cast<std::uint16_t>(p.index);
    };
    return (half(from) << 32) | (half(to) << 8) | static_cast<std::uint64_t>(size_class(bytes));
  }
  static std::size_t slot_of(std::uint64_t key) { return (key * 0x9E3779B97F4A7C15ull) >> 52; }

  std::array<std::atomic<const Entry*>, slots> table_{};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace peerlane::session

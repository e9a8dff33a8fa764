#pragma once
/// Chance that is the same on every machine and in every standard library (the distributions of <random> are not).

#include <cmath>
#include <cstdint>
#include <numbers>

namespace peerlane::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// SplitMix64.
  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9E3779B97F4A7C15ull);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// In (0, 1].
  double unit() { return (static_cast<double>(next() >> 11) + 1) * 0x1.0p-53; }
  double normal() { return std::sqrt(-2 * std::log(unit())) * std::cos(2 * std::numbers::pi * unit()); }

 private:
  std::uint64_t state_;
};

}  // namespace peerlane::sim

#pragma once
/// Units. Sizes are bytes, durations are seconds, rates are bytes per second, and every name says which.

#include <cstdint>

namespace peerlane {

using Bytes = std::uint64_t;

inline namespace literals {
// Binary units, as memory is sold.
constexpr Bytes operator""_KiB(unsigned long long n) {
  return n << 10;
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return n << 20;
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return n << 30;
}
// Decimal units, as links are sold.
constexpr Bytes operator""_KB(unsigned long long n) {
  return n * 1'000;
}
constexpr Bytes operator""_MB(unsigned long long n) {
  return n * 1'000'000;
}
constexpr Bytes operator""_GB(unsigned long long n) {
  return n * 1'000'000'000;
}
}  // namespace literals

}  // namespace peerlane

#pragma once
/// A 64-bit digest that depends on where every byte stands but not on the order in which chunks are taken, so that a
/// GPU, a CPU and a file reader can compute the same one from pieces.
///
/// The bytes are read as little-endian 64-bit words, the last one padded with zeros. Each word is mixed with its own
/// index by a bijection, so one changed word always changes the digest; the mixed words are added modulo 2^64. The
/// length is mixed in last. It finds accidents, not adversaries.

#include <cstdint>
#include <cstring>
#include <span>

#include "peerlane/units.hpp"

#if defined(__CUDACC__)
#define PEERLANE_BOTH_SIDES __host__ __device__
#else
#define PEERLANE_BOTH_SIDES
#endif

namespace peerlane::digest {

/// What one word adds.
PEERLANE_BOTH_SIDES constexpr std::uint64_t mix(std::uint64_t word, std::uint64_t index) {
  std::uint64_t x = word ^ ((index + 1) * 0x9E3779B97F4A7C15ull);
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 29;
  x *= 0xA0761D6478BD642Full;
  return x ^ (x >> 32);
}

/// The digest from the sum over all pieces and the total length.
PEERLANE_BOTH_SIDES constexpr std::uint64_t finish(std::uint64_t sum, std::uint64_t total_bytes) {
  return mix(sum, ~total_bytes);
}

/// The sum of one piece. `offset`, its place in the whole, is a multiple of 8; only the last piece may have a tail.
std::uint64_t sum(const void* bytes, Bytes count, Bytes offset);

inline std::uint64_t of(const void* bytes, Bytes count) {
  return finish(sum(bytes, count, 0), count);
}

/// The word that `fill` writes at this index.
PEERLANE_BOTH_SIDES constexpr std::uint64_t pattern(std::uint64_t seed, std::uint64_t index) {
  return mix(seed, index);
}

/// Writes the pattern's bytes [offset, offset + count); `offset` is a multiple of 8.
void fill(void* bytes, Bytes count, Bytes offset, std::uint64_t seed);

}  // namespace peerlane::digest

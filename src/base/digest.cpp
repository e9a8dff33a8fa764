#include "base/digest.hpp"

#include <bit>

namespace peerlane::digest {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

std::uint64_t load(const unsigned char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint64_t tail_sum(const unsigned char* at, Bytes count, std::uint64_t index) {
  if (count == 0) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, at, count);
  return mix(word, index);
}

}  // namespace

std::uint64_t sum(const void* bytes, Bytes count, Bytes offset) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint64_t index = offset / 8;
  const std::uint64_t end = index + count / 8;
  // Four sums that do not wait for one another: the multiplications of mix() then overlap.
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t d = 0;
  for (; end - index >= 4; index += 4, at += 32) {
    a += mix(load(at), index);
    b += mix(load(at + 8), index + 1);
    c += mix(load(at + 16), index + 2);
    d += mix(load(at + 24), index + 3);
  }
  for (; index != end; ++index, at += 8) a += mix(load(at), index);
  return a + b + c + d + tail_sum(at, count % 8, index);
}

void fill(void* bytes, Bytes count, Bytes offset, std::uint64_t seed) {
  auto* at = static_cast<unsigned char*>(bytes);
  std::uint64_t index = offset / 8;
  for (; count >= 8; ++index, at += 8, count -= 8) {
    const std::uint64_t word = pattern(seed, index);
    std::memcpy(at, &word, sizeof word);
  }
  if (count == 0) return;
  const std::uint64_t word = pattern(seed, index);
  std::memcpy(at, &word, count);
}

}  // namespace peerlane::digest

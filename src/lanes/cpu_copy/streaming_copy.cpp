#include "lanes/cpu_copy/streaming_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace peerlane::lanes {

#if defined(__x86_64__)
namespace {

constexpr Bytes vector_bytes = 32, line_bytes = 64;

/// `to` is aligned to 32 bytes and `bytes` a multiple of 64.
__attribute__((target("avx2"))) void stream_lines(std::byte* to, const std::byte* from, Bytes bytes) {
  for (Bytes i = 0; i < bytes; i += line_bytes) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + vector_bytes));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + vector_bytes), high);
  }
  _mm_sfence();  // streaming stores are weakly ordered: the DMA that reads them next must not pass them
}

Bytes bytes_to_next_line(const std::byte* address) {
  const auto into_line = reinterpret_cast<std::uintptr_t>(address) % line_bytes;
  return into_line == 0 ? 0 : line_bytes - into_line;
}

}  // namespace

void streaming_copy(void* to, const void* from, Bytes bytes) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  auto* destination = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const Bytes head = has_avx2 ? std::min(bytes_to_next_line(destination), bytes) : bytes;
  const Bytes lines = (bytes - head) / line_bytes * line_bytes;
  const Bytes tail = bytes - head - lines;
  if (head > 0) std::memcpy(destination, source, head);
  if (lines > 0) stream_lines(destination + head, source + head, lines);
  if (tail > 0) std::memcpy(destination + head + lines, source + head + lines, tail);
}
#else
void streaming_copy(void* to, const void* from, Bytes bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
#endif

}  // namespace peerlane::lanes

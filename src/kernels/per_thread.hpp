#pragma once
/// What one of many threads does in our kernels. Plain functions of both sides, so that the host's tests can run every
/// thread's part and need no GPU for it.

#include <cstdint>

#include "base/digest.hpp"

namespace peerlane::kernels {

using Word = std::uint64_t;

// Memory of any type is looked at through these.
struct alignas(8) [[gnu::may_alias]] AnyWord {
  Word word;
};
struct alignas(16) [[gnu::may_alias]] AnyPair {
  Word first, second;
};

/// The piece as seen by the kernels: whole words, then a tail of less than eight bytes.
struct Piece {
  const unsigned char* bytes;
  Word words;
  int tail_bytes;
  Word first_index;  ///< of its first word in the whole
};

PEERLANE_BOTH_SIDES inline Piece piece_of(const void* bytes, Word count, Word offset) {
  return {static_cast<const unsigned char*>(bytes), count / 8, static_cast<int>(count % 8), offset / 8};
}

PEERLANE_BOTH_SIDES inline int misalignment(const void* pointer, int alignment) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(pointer) % static_cast<unsigned>(alignment));
}

/// Little-endian, padded with zeros.
PEERLANE_BOTH_SIDES inline Word assemble(const unsigned char* bytes, int count) {
  Word word = 0;
  for (int i = 0; i < count; ++i) word |= Word{bytes[i]} << (8 * i);
  return word;
}

PEERLANE_BOTH_SIDES inline void scatter(unsigned char* bytes, int count, Word word) {
  for (int i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(word >> (8 * i));
}

/// A base on an 8-byte boundary: pairs of words by 16-byte loads; the word before the first pair and the one after the
/// last are thread 0's.
PEERLANE_BOTH_SIDES inline Word sum_aligned(const Piece& piece, Word thread, Word threads) {
  const auto* words = reinterpret_cast<const AnyWord*>(piece.bytes);
  const Word before = piece.words > 0 && misalignment(piece.bytes, 16) != 0 ? 1 : 0;
  const auto* pairs = reinterpret_cast<const AnyPair*>(words + before);
  const Word count = (piece.words - before) / 2;
  const Word after = before + 2 * count;
  Word sum = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
  for (Word i = thread; i < count; i += threads) {
    const AnyPair pair = pairs[i];
    const Word index = piece.first_index + before + 2 * i;
    sum += digest::mix(pair.first, index) + digest::mix(pair.second, index + 1);
  }
  if (thread == 0 && before > 0) sum += digest::mix(words[0].word, piece.first_index);
  if (thread == 0 && after < piece.words) sum += digest::mix(words[after].word, piece.first_index + after);
  return sum;
}

/// Any other base: each word is cut from two aligned ones. Every load holds a byte of the piece, so it stays inside the
/// allocation's pages; the last word is assembled from bytes, so it stays inside the allocation.
PEERLANE_BOTH_SIDES inline Word sum_unaligned(const Piece& piece, Word thread, Word threads) {
  const int skew = misalignment(piece.bytes, 8);
  const auto* around = reinterpret_cast<const AnyWord*>(piece.bytes - skew);
  Word sum = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
  for (Word i = thread; i + 1 < piece.words; i += threads) {
    const Word word = around[i].word >> (8 * skew) | around[i + 1].word << (64 - 8 * skew);
    sum += digest::mix(word, piece.first_index + i);
  }
  if (thread == 0 && piece.words > 0) {
    const Word last = piece.words - 1;
    sum += digest::mix(assemble(piece.bytes + 8 * last, 8), piece.first_index + last);
  }
  return sum;
}

/// Summed over all threads, what digest::sum gives for the piece.
PEERLANE_BOTH_SIDES inline Word sum_of_thread(const Piece& piece, Word thread, Word threads) {
  Word sum =
      misalignment(piece.bytes, 8) == 0 ? sum_aligned(piece, thread, threads) : sum_unaligned(piece, thread, threads);
  if (thread == 0 && piece.tail_bytes > 0) {
    sum += digest::mix(assemble(piece.bytes + 8 * piece.words, piece.tail_bytes), piece.first_index + piece.words);
  }
  return sum;
}

/// Over all threads, what digest::fill writes.
PEERLANE_BOTH_SIDES inline void fill_of_thread(void* bytes, const Piece& piece, Word seed, Word thread, Word threads) {
  auto* to = static_cast<unsigned char*>(bytes);
  if (misalignment(to, 16) == 0) {
    for (Word i = thread; i < piece.words / 2; i += threads) {
      const Word index = piece.first_index + 2 * i;
      reinterpret_cast<AnyPair*>(to)[i] = {digest::pattern(seed, index), digest::pattern(seed, index + 1)};
    }
    if (thread == 0 && piece.words % 2 != 0) {
      const Word last = piece.words - 1;
      reinterpret_cast<AnyWord*>(to)[last] = {digest::pattern(seed, piece.first_index + last)};
    }
  } else {
    for (Word i = thread; i < piece.words; i += threads) {
      scatter(to + 8 * i, 8, digest::pattern(seed, piece.first_index + i));
    }
  }
  if (thread == 0) {
    scatter(to + 8 * piece.words, piece.tail_bytes, digest::pattern(seed, piece.first_index + piece.words));
  }
}

}  // namespace peerlane::kernels

/// The kernels' arithmetic, thread by thread on the host.

#include "kernels/per_thread.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace peerlane::kernels {
namespace {

/// The piece lies `skew` bytes after a 16-byte boundary, with nothing around it that may be read or written.
class Bytes16 {
 public:
  Bytes16(Bytes count, Bytes skew) : memory_(count + skew + 32, 0xee), count_(count) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = (16 - address % 16) % 16 + skew;
  }
  unsigned char* data() { return memory_.data() + first_; }
  bool untouched_around() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < first_ || i >= first_ + count_) && memory_[i] != 0xee) return false;
    }
    return true;
  }

 private:
  std::vector<unsigned char> memory_;
  std::size_t count_;
  std::size_t first_;
};

Word sum_of_all_threads(const void* bytes, Bytes count, Bytes offset, Word threads) {
  const Piece piece = piece_of(bytes, count, offset);
  Word sum = 0;
  for (Word thread = 0; thread < threads; ++thread) sum += sum_of_thread(piece, thread, threads);
  return sum;
}

void fill_by_all_threads(void* bytes, Bytes count, Bytes offset, Word seed, Word threads) {
  const Piece piece = piece_of(bytes, count, offset);
  for (Word thread = 0; thread < threads; ++thread) fill_of_thread(bytes, piece, seed, thread, threads);
}

TEST(Threads, TogetherSumWhatTheHostDoesForEverySizeAndBase) {
  std::mt19937 random(1);
  for (Bytes count = 0; count < 200; ++count) {
    for (Bytes skew = 0; skew < 16; ++skew) {
      Bytes16 memory(count, skew);
      for (Bytes i = 0; i < count; ++i) memory.data()[i] = static_cast<unsigned char>(random());
      for (const Word threads : {1, 7, 32}) {
        ASSERT_EQ(sum_of_all_threads(memory.data(), count, 24, threads), digest::sum(memory.data(), count, 24))
            << count << " bytes at +" << skew << " by " << threads;
      }
    }
  }
}

TEST(Threads, TogetherFillWhatTheHostDoesForEverySizeAndBaseAndNothingBeside) {
  for (Bytes count = 0; count < 200; ++count) {
    std::vector<unsigned char> expected(count + 1);
    digest::fill(expected.data(), count, 64, 42);
    for (Bytes skew = 0; skew < 16; ++skew) {
      for (const Word threads : {1, 7, 32}) {
        Bytes16 memory(count, skew);
        fill_by_all_threads(memory.data(), count, 64, 42, threads);
        ASSERT_EQ(std::memcmp(memory.data(), expected.data(), count), 0)
            << count << " bytes at +" << skew << " by " << threads;
        ASSERT_TRUE(memory.untouched_around());
      }
    }
  }
}

RC_GTEST_PROP(Threads, SumPiecesToTheWhole, ()) {
  const auto count = *rc::gen::inRange<Bytes>(0, 20'000);
  const auto cut = *rc::gen::inRange<Bytes>(0, count / 8 + 1) * 8;
  Bytes16 memory(count, *rc::gen::inRange<Bytes>(0, 16));
  digest::fill(memory.data(), count, 0, *rc::gen::arbitrary<std::uint64_t>());
  const Word threads = *rc::gen::inRange<Word>(1, 300);
  const Word sum = sum_of_all_threads(memory.data(), cut, 0, threads) +
                   sum_of_all_threads(memory.data() + cut, count - cut, cut, threads);
  RC_ASSERT(digest::finish(sum, count) == digest::of(memory.data(), count));
}

}  // namespace
}  // namespace peerlane::kernels

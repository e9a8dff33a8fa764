#include "base/digest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace peerlane {
namespace {

using Data = std::vector<std::uint8_t>;

/// The definition, word by word.
std::uint64_t by_definition(const Data& data) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = at; i < std::min(at + 8, data.size()); ++i) word |= std::uint64_t{data[i]} << (8 * (i - at));
    sum += digest::mix(word, at / 8);
  }
  return digest::finish(sum, data.size());
}

Data noise(std::size_t size) {
  std::mt19937_64 random(size);
  Data data(size);
  std::generate(data.begin(), data.end(), [&] { return static_cast<std::uint8_t>(random()); });
  return data;
}

TEST(Digest, FollowsItsDefinitionForEveryLengthAndAlignment) {
  for (std::size_t size = 0; size < 200; ++size) {
    const Data data = noise(size);
    for (std::size_t shift = 0; shift < 8; ++shift) {
      Data shifted(shift);
      shifted.insert(shifted.end(), data.begin(), data.end());
      EXPECT_EQ(digest::of(shifted.data() + shift, size), by_definition(data)) << size << " bytes at " << shift;
    }
  }
}

RC_GTEST_PROP(Digest, IsTheSameFromPiecesInAnyOrder, (const Data& data)) {
  std::vector<std::pair<std::size_t, std::size_t>> pieces;  // offset, size
  for (std::size_t at = 0; at < data.size();) {
    const std::size_t size = std::min<std::size_t>(8 * *rc::gen::inRange<std::size_t>(1, 6), data.size() - at);
    pieces.emplace_back(at, size);
    at += size;
  }
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
  std::uint64_t sum = 0;
  for (const auto& [at, size] : pieces) sum += digest::sum(data.data() + at, size, at);
  RC_ASSERT(digest::finish(sum, data.size()) == digest::of(data.data(), data.size()));
}

TEST(Digest, SeesEverySingleBit) {
  Data data = noise(77);
  const std::uint64_t before = digest::of(data.data(), data.size());
  for (std::size_t bit = 0; bit < 8 * data.size(); ++bit) {
    data[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_NE(digest::of(data.data(), data.size()), before) << "bit " << bit;
    data[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
}

TEST(Digest, SeesTwoWordsSwapped) {
  Data data = noise(64);
  const std::uint64_t before = digest::of(data.data(), data.size());
  std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 16);
  EXPECT_NE(digest::of(data.data(), data.size()), before);
}

TEST(Digest, SeesZerosAddedAtTheEnd) {
  const Data zeros(64);
  for (std::size_t size = 0; size < 63; ++size) {
    EXPECT_NE(digest::of(zeros.data(), size), digest::of(zeros.data(), size + 1)) << size;
  }
}

TEST(Digest, OfNothingNeedsNoAddress) {
  EXPECT_EQ(digest::of(nullptr, 0), digest::finish(0, 0));
}

RC_GTEST_PROP(Fill, WritesTheSamePatternFromPieces, (std::uint64_t seed)) {
  const std::size_t size = *rc::gen::inRange<std::size_t>(0, 500);
  const std::size_t cut = std::min(size, 8 * *rc::gen::inRange<std::size_t>(0, 60));
  Data whole(size + 1, 0xEE);
  digest::fill(whole.data(), size, 0, seed);
  RC_ASSERT(whole.back() == 0xEE);
  Data pieces(size);
  digest::fill(pieces.data() + cut, size - cut, cut, seed);
  digest::fill(pieces.data(), cut, 0, seed);
  RC_ASSERT(std::equal(pieces.begin(), pieces.end(), whole.begin()));
}

TEST(Fill, WritesTheWordsOfThePattern) {
  Data data(20);
  digest::fill(data.data(), data.size(), 800, 42);
  for (std::size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(data[i], static_cast<std::uint8_t>(digest::pattern(42, 100 + i / 8) >> (8 * (i % 8))));
  }
}

}  // namespace
}  // namespace peerlane

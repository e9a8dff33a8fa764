/// Copies on every preset carry equal bytes, at the rate its links give.

#include <rapidcheck.h>

#include "support/session_fixture.hpp"

namespace peerlane::test {
namespace {

class EveryPreset : public testing::TestWithParam<std::string> {};

/// A size as people have them: 0, 1, odd, around a chunk, several chunks.
rc::Gen<Bytes> size() {
  return rc::gen::oneOf(
      rc::gen::element<Bytes>(0, 1, 2, 3, 7, 4095, 4096, 4097, 256_KiB - 1, 256_KiB + 1, 4_MiB - 1, 4_MiB + 1),
      rc::gen::inRange<Bytes>(0, 64_KiB), rc::gen::inRange<Bytes>(1_MiB, 9_MiB));
}

TEST_P(EveryPreset, random_copies_between_random_places_carry_equal_bytes) {
  Session session = open(GetParam());
  Oracle oracle(session);
  const int gpus = session.machine().gpu_count();
  std::vector<Place> places{host(), mem()};
  for (int i = 0; i < gpus; ++i) places.push_back(gpu(i));
  for (int node : session.machine().numa_nodes()) places.push_back(host(node));
  const bool held = rc::check([&] {
    const Place from = *rc::gen::elementOf(places);
    const Place to = *rc::gen::elementOf(places);
    const Bytes bytes = *size();
    const Bytes from_offset = *rc::gen::inRange<Bytes>(0, 17);
    const Bytes to_offset = *rc::gen::inRange<Bytes>(0, 17);
    const ByteVector data = random_bytes(bytes, bytes + from_offset);
    const Buffer source = must(session.allocate(from, bytes + from_offset));
    const Buffer target = must(session.allocate(to, bytes + to_offset));
    const Region start = source.region().slice(from_offset, bytes);
    const Region end = target.region().slice(to_offset, bytes);
    oracle.put(start, data);
    CopyOptions options;
    options.verify = *rc::gen::arbitrary<bool>();
    must(must(session.copy(start, end, options)).wait());
    RC_ASSERT(oracle.get(end) == data);
    RC_ASSERT(session.leased() == 0u);
  });
  EXPECT_TRUE(held);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr Bytes large = 128_MiB + 1;  // the same chunks and tails, in a sanitizer's time
#else
constexpr Bytes large = 2_GiB + 1;
#endif

TEST_P(EveryPreset, two_gibibytes_and_a_byte_arrive_whole) {
  Session session = open(GetParam());
  const Bytes bytes = large;
  const int last = session.machine().gpu_count() - 1;
  const Buffer from = must(session.allocate(gpu(0), bytes));
  const Buffer to = must(session.allocate(last == 0 ? mem() : gpu(last), bytes));
  must(session.fill(from, 99));
  CopyOptions options;
  options.verify = true;
  EXPECT_EQ(must(must(session.copy(from, to, options)).wait()).verified, true);
}

TEST_P(EveryPreset, what_was_expected_is_what_the_simulated_machine_does) {
  Session session = open(GetParam());
  const int last = session.machine().gpu_count() - 1;
  for (Place to : {host(), gpu(last)}) {
    const Buffer from = must(session.allocate(gpu(0), 256_MiB));
    const Buffer end = must(session.allocate(to, 256_MiB));
    CopyOptions options;
    options.timed = true;
    const Receipt receipt = must(must(session.copy(from, end, options)).wait());
    EXPECT_NEAR(receipt.seconds, receipt.expected_seconds, receipt.expected_seconds * 0.1)
        << "gpu:0 → " << to_string(to) << " on " << GetParam();
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (auto name : preset_names()) all.emplace_back(name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace peerlane::test

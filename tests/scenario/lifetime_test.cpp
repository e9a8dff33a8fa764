/// One ending, and quiet at it: deadlines, cancelling, dropped handles, stuck and lost GPUs, corrupting links.

#include <gmock/gmock.h>

#include <thread>

#include "support/session_fixture.hpp"

namespace peerlane::test {
namespace {

using namespace std::chrono_literals;

CopyOptions with_deadline(std::chrono::nanoseconds deadline) {
  CopyOptions options;
  options.deadline = deadline;
  return options;
}

TEST(Lifetime, an_engine_that_never_finishes_ends_in_a_timeout_and_keeps_the_buffer_leased) {
  Session session = open("dgx-h100", {"stuck:gpu:1"});
  Buffer from = must(session.allocate(gpu(1), 4_MiB));
  Buffer to = must(session.allocate(gpu(2), 4_MiB));
  const auto begin = std::chrono::steady_clock::now();
  Transfer copy = must(session.copy(from, to, with_deadline(2s)));
  const auto ended = copy.wait();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::timeout) << ended.error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s + 250ms);
  EXPECT_EQ(copy.state(), TransferState::draining);
  EXPECT_GE(session.leased(), 8_MiB);
  from.reset();  // handed over, not freed: the engine may still read it
  EXPECT_GE(session.leased(), 8_MiB);
}

TEST(Lifetime, other_gpus_go_on_beside_a_stuck_one) {
  Session session = open("dgx-h100", {"stuck:gpu:1"});
  Oracle oracle(session);
  const Buffer stuck_from = must(session.allocate(gpu(1), 1_MiB));
  const Buffer stuck_to = must(session.allocate(gpu(2), 1_MiB));
  Transfer stuck = must(session.copy(stuck_from, stuck_to, with_deadline(1s)));
  const ByteVector data = random_bytes(1_MiB, 3);
  const Buffer from = must(session.allocate(gpu(3), 1_MiB));
  const Buffer to = must(session.allocate(gpu(4), 1_MiB));
  oracle.put(from, data);
  must(must(session.copy(from, to)).wait());
  EXPECT_EQ(oracle.get(to), data);
  EXPECT_EQ(stuck.wait().error().kind, ErrorKind::timeout);
}

TEST(Lifetime, a_lost_gpu_is_said_to_be_lost_and_the_others_go_on) {
  Session session = open("dgx-h100", {"lost:gpu:1"});
  Oracle oracle(session);
  const auto buffer = session.allocate(gpu(1), 1_MiB);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::device_lost) << buffer.error().message();
  const Buffer from = must(session.allocate(gpu(0), 1_MiB));
  const Buffer to = must(session.allocate(gpu(2), 1_MiB));
  must(session.fill(from, 1));
  must(must(session.copy(from, to)).wait());
  EXPECT_EQ(oracle.get(to), oracle.get(from));
}

TEST(Lifetime, a_gpu_lost_under_way_fails_the_copy) {
  int lost_under_way = 0;
  for (int nth = 1; nth <= 6; ++nth) {
    Session session = open("rtx4090-4", {"lost:gpu:1:" + std::to_string(nth)});
    auto from = session.allocate(gpu(0), 40_MiB);
    auto to = session.allocate(gpu(1), 40_MiB);
    if (!to) continue;  // lost that early
    ++lost_under_way;
    auto copy = session.copy(*from, *to, with_deadline(1s));
    const ErrorKind kind = copy ? copy->wait().error().kind : copy.error().kind;
    EXPECT_EQ(kind, ErrorKind::device_lost) << "operation " << nth;
  }
  EXPECT_GT(lost_under_way, 0);
}

TEST(Lifetime, a_digest_finds_a_corrupting_link_and_names_the_hop) {
  for (const char* kind : {"corrupt", "drop", "misdirect"}) {
    Session session = open("dgx-h100", {std::string(kind) + ":gpu:0>gpu:1"});
    const Buffer from = must(session.allocate(gpu(0), 1_MiB));
    const Buffer to = must(session.allocate(gpu(1), 1_MiB));
    must(session.fill(from, 5));
    CopyOptions options;
    options.verify = true;
    const auto ended = must(session.copy(from, to, options)).wait();
    ASSERT_FALSE(ended) << kind;
    EXPECT_EQ(ended.error().kind, ErrorKind::data_mismatch) << kind;
    EXPECT_EQ(ended.error().where, "gpu:0 → gpu:1");
    const Buffer elsewhere = must(session.allocate(gpu(2), 1_MiB));
    EXPECT_TRUE(must(session.copy(from, elsewhere, options)).wait()) << "a healthy pair was accused";
  }
}

TEST(Lifetime, a_cancelled_copy_ends_once_and_quiet) {
  Session session = open("laptop-1gpu");
  const Buffer from = must(session.allocate(mem(), 64_MiB));
  const Buffer to = must(session.allocate(gpu(0), 64_MiB));
  Transfer copy = must(session.copy(from, to));
  copy.cancel();
  const auto first = copy.wait();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(copy.state(), TransferState::cancelled);
  EXPECT_EQ(session.leased(), 0u);
  copy.cancel();
  EXPECT_EQ(copy.wait().error().kind, ErrorKind::cancelled);
}

TEST(Lifetime, a_dropped_handle_leaves_the_copy_to_finish) {
  Session session = open("laptop-1gpu");
  Oracle oracle(session);
  const ByteVector data = random_bytes(24_MiB, 4);
  const Buffer from = must(session.allocate(mem(), data.size()));
  const Buffer to = must(session.allocate(gpu(0), data.size()));
  oracle.put(from, data);
  must(session.copy(from, to));  // the handle goes at once
  const Buffer again = must(session.allocate(mem(), 4096));
  const Buffer small = must(session.allocate(gpu(0), 4096));
  while (session.leased() > 0) must(must(session.copy(again, small)).wait());
  EXPECT_EQ(oracle.get(to), data);
}

TEST(Lifetime, a_session_that_ends_with_copies_in_flight_waits_for_them_and_leaks_nothing) {
  std::shared_ptr<sim::Simulation> simulation;
  for (bool threaded : {false, true}) {
    {
      Session session = open("dgx-a100", {}, threaded);
      simulation = session.simulation();
      for (int i = 0; i < 20; ++i) {
        const Buffer from = must(session.allocate(i % 2 == 0 ? mem() : gpu(i % 8), 2_MiB));
        const Buffer to = must(session.allocate(gpu((i + 3) % 8), 2_MiB));
        must(session.copy(from, to));  // handle and buffers go while it flies
      }
    }
    EXPECT_THAT(simulation->leaks(), testing::IsEmpty());
    simulation.reset();
  }
}

TEST(Lifetime, a_buffer_may_outlive_its_session) {
  Buffer buffer;
  {
    Session session = open("dgx-h100");
    buffer = must(session.allocate(gpu(0), 1_MiB));
  }
  buffer.reset();
}

TEST(Lifetime, threads_may_share_a_session) {
  Session session = open("dgx-h100", {}, true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&session, t] {
      Oracle oracle(session);
      for (int i = 0; i < 8; ++i) {
        const ByteVector data = random_bytes(300'000 + static_cast<Bytes>(i), static_cast<std::uint64_t>(t * 100 + i));
        const Buffer start = must(session.allocate(mem(), data.size()));
        const Buffer near = must(session.allocate(gpu(t), data.size()));
        const Buffer far = must(session.allocate(gpu((t + i) % 8), data.size()));
        const Buffer end = must(session.allocate(mem(), data.size()));
        oracle.put(start, data);
        must(must(session.copy(start, near)).wait());
        must(must(session.copy(near, far)).wait());
        must(must(session.copy(far, end)).wait());
        EXPECT_EQ(oracle.get(end), data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Lifetime, the_same_seed_gives_the_same_time_to_the_nanosecond) {
  const auto run = [] {
    Options options;
    options.machine = "dgx-1-v100";
    options.seed = 11;
    Session session = must(Session::open(options));
    const Buffer from = must(session.allocate(mem(), 30_MiB + 7));
    const Buffer middle = must(session.allocate(gpu(0), from.bytes()));
    const Buffer to = must(session.allocate(gpu(5), from.bytes()));
    CopyOptions timed;
    timed.timed = true;
    const double first = must(must(session.copy(from, middle, timed)).wait()).seconds;
    return std::pair(first, must(must(session.copy(middle, to, timed)).wait()).seconds);
  };
  EXPECT_EQ(run(), run());
}

TEST(Lifetime, strict_refuses_a_fallback_with_its_sentence) {
  Session session = open("rtx4090-4");
  const Buffer from = must(session.allocate(gpu(0), 1_MiB));
  const Buffer to = must(session.allocate(gpu(1), 1_MiB));
  CopyOptions options;
  options.strict = true;
  const auto refused = session.copy(from, to, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(exit_code(refused.error().kind), 7);
  const Receipt receipt = must(must(session.copy(from, to)).wait());
  EXPECT_FALSE(receipt.fallback.empty());
}

TEST(Lifetime, peer_access_is_undone_by_its_last_holder) {
  Session session = open("dgx-h100");
  {
    const PeerAccess first = must(session.allow(gpu(0), gpu(1)));
    const PeerAccess second = must(session.allow(gpu(0), gpu(1)));
    EXPECT_TRUE(first);
  }
  EXPECT_FALSE(session.allow(gpu(0), gpu(0)));
  EXPECT_FALSE(session.allow(gpu(0), host()));
  EXPECT_TRUE(session.allow(gpu(0), gpu(1)));
}

}  // namespace
}  // namespace peerlane::test

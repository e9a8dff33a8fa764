/// The contract of every road, on whatever machine PEERLANE_TEST_MACHINE names ("real": this one): each pair of places,
/// awkward sizes and offsets, nothing outside the destination touched, checked by the owner of the destination.

#include <algorithm>
#include <cstdlib>

#include "support/session_fixture.hpp"

namespace peerlane::test {
namespace {

std::string machine_under_test() {
  const char* name = std::getenv("PEERLANE_TEST_MACHINE");
  if (name == nullptr) return "dgx-h100";
  return std::string_view(name) == "real" ? "" : name;
}

constexpr Bytes guard = 4096;
constexpr unsigned char guard_byte = 0xE7;

class CopyContract : public testing::Test {
 protected:
  void SetUp() override {
    session_ = std::make_unique<Session>(open(machine_under_test()));
    oracle_ = std::make_unique<Oracle>(*session_);
    if (session_->machine().gpu_count() == 0)
      GTEST_SKIP() << "no GPU on this machine: " << session_->machine().notes.front();
  }

  /// Two GPUs if there are two; the first and the last, which are far apart on most machines.
  std::vector<Place> places() const {
    std::vector<Place> all{gpu(0), host(), mem()};
    const int last = session_->machine().gpu_count() - 1;
    if (last > 0) all.push_back(gpu(last));
    for (int node : session_->machine().numa_nodes()) all.push_back(host(node));
    return all;
  }

  struct Guarded {
    Buffer buffer;
    Region inner;
  };
  Guarded guarded(Place place, Bytes bytes, Bytes misalignment) {
    Guarded g;
    g.buffer = must(session_->allocate(place, bytes + 2 * guard + misalignment));
    oracle_->put(g.buffer, ByteVector(g.buffer.bytes(), guard_byte));
    g.inner = g.buffer.region().slice(guard + misalignment, bytes);
    return g;
  }

  void expect_copy(Place from, Place to, Bytes bytes, Bytes from_offset, Bytes to_offset,
                   const CopyOptions& options = {}) {
    SCOPED_TRACE(to_string(from) + " → " + to_string(to) + ", " + std::to_string(bytes) + " bytes, offsets " +
                 std::to_string(from_offset) + " and " + std::to_string(to_offset));
    const ByteVector sent = random_bytes(bytes, bytes * 31 + from_offset);
    Guarded source = guarded(from, bytes, from_offset);
    Guarded target = guarded(to, bytes, to_offset);
    oracle_->put(source.inner, sent);
    Transfer copy = must(session_->copy(source.inner, target.inner, options));
    const Receipt receipt = must(copy.wait());
    EXPECT_EQ(copy.state(), TransferState::done);
    EXPECT_EQ(receipt.bytes, bytes);
    EXPECT_EQ(oracle_->get(target.inner), sent);
    const ByteVector around = oracle_->get(target.buffer);
    const auto untouched = [](auto first, auto last) {
      return std::all_of(first, last, [](unsigned char byte) { return byte == guard_byte; });
    };
    const auto begin = around.begin() + static_cast<std::ptrdiff_t>(guard + to_offset);
    EXPECT_TRUE(untouched(around.begin(), begin)) << "bytes before the destination were touched";
    EXPECT_TRUE(untouched(begin + static_cast<std::ptrdiff_t>(bytes), around.end())) << "bytes behind it were touched";
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<Oracle> oracle_;
};

TEST_F(CopyContract, every_pair_of_places_carries_awkward_sizes) {
  for (Place from : places()) {
    for (Place to : places()) {
      for (Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{7}, Bytes{4095}, 64_KiB + 1, 2_MiB, 2_MiB + 3}) {
        expect_copy(from, to, bytes, 0, 0);
      }
    }
  }
}

TEST_F(CopyContract, every_pair_of_places_carries_unaligned_offsets) {
  for (Place from : places()) {
    for (Place to : places()) expect_copy(from, to, 1_MiB + 13, 3, 5);
  }
}

TEST_F(CopyContract, a_large_copy_goes_through_its_chunks_whole) {
  for (Place from : {gpu(0), mem(), host()}) {
    for (Place to : {gpu(session_->machine().gpu_count() - 1), mem()}) expect_copy(from, to, 96_MiB + 5, 0, 0);
  }
}

TEST_F(CopyContract, a_timed_and_verified_copy_says_how_long_and_that_digests_agree) {
  const Buffer from = must(session_->allocate(gpu(0), 8_MiB));
  const Buffer to = must(session_->allocate(mem(), 8_MiB));
  must(session_->fill(from, 42));
  CopyOptions options;
  options.timed = true;
  options.verify = true;
  const Receipt receipt = must(must(session_->copy(from, to, options)).wait());
  EXPECT_GT(receipt.seconds, 0);
  EXPECT_EQ(receipt.verified, true);
}

TEST_F(CopyContract, a_digest_is_the_same_wherever_the_bytes_live) {
  Folder folder;
  for (Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{8}, Bytes{1001}, 8_MiB + 5}) {
    const ByteVector data = random_bytes(bytes, bytes + 1);
    const std::string path = folder.file("bytes");
    write_file(path, data);
    const std::uint64_t in_file = must(session_->digest(must(session_->open_source(path))));
    for (Place place : places()) {
      const Buffer buffer = must(session_->allocate(place, bytes));
      oracle_->put(buffer, data);
      EXPECT_EQ(must(session_->digest(buffer)), in_file) << to_string(place) << ", " << bytes << " bytes";
    }
  }
}

TEST_F(CopyContract, a_digest_of_unaligned_gpu_memory_is_that_of_its_bytes) {
  const ByteVector data = random_bytes(100'003, 9);
  const Buffer buffer = must(session_->allocate(gpu(0), 200'000));
  const Buffer same = must(session_->allocate(mem(), data.size()));
  oracle_->put(same, data);
  for (Bytes offset : {1, 2, 3, 5, 7, 8, 9, 15, 16}) {
    const Region inner = buffer.region().slice(offset, data.size());
    oracle_->put(inner, data);
    EXPECT_EQ(must(session_->digest(inner)), must(session_->digest(same))) << "offset " << offset;
  }
}

TEST_F(CopyContract, a_file_goes_to_a_gpu_and_back_unchanged) {
  Folder folder;
  for (Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{4097}, 40_MiB + 11}) {
    const ByteVector data = random_bytes(bytes, bytes);
    write_file(folder.file("in"), data);
    const Region source = must(session_->open_source(folder.file("in")));
    const Buffer middle = must(session_->allocate(gpu(0), bytes));
    const Region target = must(session_->open_target(folder.file("out"), bytes));
    must(must(session_->copy(source, middle)).wait());
    must(must(session_->copy(middle, target)).wait());
    must(session_->commit(target));
    EXPECT_EQ(read_file(folder.file("out")), data) << bytes;
  }
}

TEST_F(CopyContract, two_copies_at_once_do_not_disturb_each_other) {
  const Bytes bytes = 8_MiB;
  const ByteVector first = random_bytes(bytes, 1);
  const ByteVector second = random_bytes(bytes, 2);
  Guarded a = guarded(mem(), bytes, 0);
  Guarded b = guarded(host(), bytes, 0);
  Guarded on_a = guarded(gpu(0), bytes, 0);
  Guarded on_b = guarded(gpu(0), bytes, 0);
  oracle_->put(a.inner, first);
  oracle_->put(b.inner, second);
  Transfer one = must(session_->copy(a.inner, on_a.inner));
  Transfer two = must(session_->copy(b.inner, on_b.inner));
  must(two.wait());
  must(one.wait());
  EXPECT_EQ(oracle_->get(on_a.inner), first);
  EXPECT_EQ(oracle_->get(on_b.inner), second);
}

/// A stream of the caller's on gpu:0, in its primary context.
class CallersStream {
 public:
  explicit CallersStream(Session& session) : driver_(session.driver()) {
    EXPECT_EQ(driver_.cuDevicePrimaryCtxRetain(&context_, 0), cu::Status::success);
    EXPECT_EQ(driver_.cuCtxPushCurrent(context_), cu::Status::success);
    EXPECT_EQ(driver_.cuStreamCreate(&stream_, cu::stream_non_blocking), cu::Status::success);
  }
  ~CallersStream() {
    driver_.cuStreamDestroy(stream_);
    cu::Context popped;
    driver_.cuCtxPopCurrent(&popped);
    driver_.cuDevicePrimaryCtxRelease(0);
  }
  void synchronize() { EXPECT_EQ(driver_.cuStreamSynchronize(stream_), cu::Status::success); }
  cu::Stream get() const { return stream_; }
  cu::Context context() const { return context_; }

 private:
  const vendor::CudaDriver& driver_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
};

TEST_F(CopyContract, copies_on_the_callers_stream_run_in_its_order) {
  CallersStream stream(*session_);
  CopyOptions options;
  options.stream = stream.get();
  const Bytes bytes = 3_MiB + 1;
  const int far = session_->machine().gpu_count() - 1;
  const ByteVector data = random_bytes(bytes, 77);
  const Buffer start = must(session_->allocate(host(), bytes));
  const Buffer near = must(session_->allocate(gpu(0), bytes));
  const Buffer other = must(session_->allocate(gpu(far), bytes));
  const Buffer end = must(session_->allocate(host(), bytes));
  oracle_->put(start, data);
  oracle_->put(end, ByteVector(bytes, guard_byte));
  must(session_->copy(start, near, options));  // no waits between: only the stream keeps them in order
  must(session_->copy(near, other, options));
  Transfer last = must(session_->copy(other, end, options));
  must(last.wait());
  EXPECT_EQ(oracle_->get(end), data);
}

TEST_F(CopyContract, the_callers_stream_waits_for_a_copy_that_cpus_carry) {
  CallersStream stream(*session_);
  CopyOptions options;
  options.stream = stream.get();
  const Bytes bytes = 9_MiB + 1;
  const ByteVector data = random_bytes(bytes, 78);
  const Buffer start = must(session_->allocate(mem(), bytes));
  const Buffer near = must(session_->allocate(gpu(0), bytes));
  const Buffer end = must(session_->allocate(host(), bytes));
  oracle_->put(start, data);
  oracle_->put(end, ByteVector(bytes, guard_byte));
  Transfer first = must(session_->copy(start, near, options));
  Transfer second = must(session_->copy(near, end, options));
  must(first.wait());
  must(second.wait());
  EXPECT_EQ(oracle_->get(end), data);
}

TEST_F(CopyContract, the_current_context_is_left_as_found) {
  CallersStream stream(*session_);
  const Buffer from = must(session_->allocate(gpu(session_->machine().gpu_count() - 1), 1_MiB));
  const Buffer to = must(session_->allocate(mem(), 1_MiB));
  must(must(session_->copy(from, to)).wait());
  cu::Context current = nullptr;
  EXPECT_EQ(session_->driver().cuCtxGetCurrent(&current), cu::Status::success);
  EXPECT_EQ(current, stream.context());
}

TEST_F(CopyContract, bad_requests_are_refused_with_a_sentence) {
  const Buffer buffer = must(session_->allocate(gpu(0), 1_MiB));
  const Buffer other = must(session_->allocate(mem(), 2_MiB));
  const auto kind_of = [&](const Region& from, const Region& to) { return session_->copy(from, to).error().kind; };
  EXPECT_EQ(kind_of(buffer, other), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(buffer, buffer), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(buffer.region().slice(0, 4096), buffer.region().slice(4095, 4096)), ErrorKind::invalid_argument);
  const auto nowhere = session_->allocate(gpu(99), 1);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message().find("gpu:0"), std::string::npos) << nowhere.error().message();
}

}  // namespace
}  // namespace peerlane::test

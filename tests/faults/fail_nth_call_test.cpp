/// Every driver call that eight canonical copies reach is made to fail, one after another. Whatever fails: no crash, no
/// hang, no leak, no wrong byte; the copy succeeds with the right bytes or ends with an error that has a sentence.

#include <functional>
#include <map>

#include <gmock/gmock.h>

#include "support/session_fixture.hpp"

namespace peerlane::test {
namespace {

constexpr Bytes bytes = 1_MiB + 3;  // several chunks on every staged road

struct Canonical {
  const char* name;
  const char* machine;
  /// Copies `sent` somewhere and back to the host; what came out, or the first error.
  std::function<Result<ByteVector>(Session&, const ByteVector& sent, Folder&)> run;
};

Result<void> copy_and_wait(Session& session, const Region& from, const Region& to) {
  CopyOptions options;
  options.timed = true;
  options.deadline = std::chrono::seconds(5);
  auto transfer = session.copy(from, to, options);
  if (!transfer) return tl::unexpected(transfer.error());
  auto receipt = transfer->wait();
  if (!receipt) return tl::unexpected(receipt.error());
  return {};
}

/// mem → first … → last → mem, each hop a copy of its own.
Result<ByteVector> through(Session& session, const ByteVector& sent, const std::vector<Place>& places) {
  std::vector<Buffer> buffers;
  for (Place place : places) {
    auto buffer = session.allocate(place, sent.size());
    if (!buffer) return tl::unexpected(buffer.error());
    buffers.push_back(std::move(*buffer));
  }
  std::memcpy(buffers.front().data(), sent.data(), sent.size());
  for (std::size_t i = 0; i + 1 < buffers.size(); ++i) {
    if (auto copied = copy_and_wait(session, buffers[i], buffers[i + 1]); !copied)
      return tl::unexpected(copied.error());
  }
  const Region& end = buffers.back();
  return ByteVector(reinterpret_cast<unsigned char*>(end.data()),
                    reinterpret_cast<unsigned char*>(end.data()) + end.bytes);
}

auto places(std::vector<Place> list) {
  return [list](Session& session, const ByteVector& sent, Folder&) { return through(session, sent, list); };
}

Result<ByteVector> file_to_file_over_a_gpu(Session& session, const ByteVector& sent, Folder& folder) {
  auto source = session.open_source(folder.file("in"));
  if (!source) return tl::unexpected(source.error());
  auto middle = session.allocate(gpu(0), sent.size());
  if (!middle) return tl::unexpected(middle.error());
  auto target = session.open_target(folder.file("out"), sent.size());
  if (!target) return tl::unexpected(target.error());
  if (auto copied = copy_and_wait(session, *source, *middle); !copied) return tl::unexpected(copied.error());
  if (auto copied = copy_and_wait(session, *middle, *target); !copied) return tl::unexpected(copied.error());
  if (auto named = session.commit(*target); !named) return tl::unexpected(named.error());
  return read_file(folder.file("out"));
}

Result<ByteVector> digest_on_a_gpu(Session& session, const ByteVector& sent, Folder&) {
  auto host_end = session.allocate(host(), sent.size());
  if (!host_end) return tl::unexpected(host_end.error());
  auto device = session.allocate(gpu(0), sent.size());
  if (!device) return tl::unexpected(device.error());
  std::memcpy(host_end->data(), sent.data(), sent.size());
  CopyOptions options;
  options.verify = true;
  auto transfer = session.copy(*host_end, *device, options);
  if (!transfer) return tl::unexpected(transfer.error());
  if (auto receipt = transfer->wait(); !receipt) return tl::unexpected(receipt.error());
  return sent;
}

const std::vector<Canonical>& canonical_copies() {
  static const std::vector<Canonical> all{
      {"pinned host to gpu and back", "dgx-h100", places({host(), gpu(0), host()})},
      {"pageable memory to gpu and back", "laptop-1gpu", places({mem(), gpu(0), mem()})},
      {"peers over NVLink", "dgx-h100", places({host(), gpu(0), gpu(5), host()})},
      {"staged over the host", "rtx4090-4", places({host(), gpu(0), gpu(3), host()})},
      {"relayed over a gpu", "dgx-1-v100", places({host(), gpu(0), gpu(5), host()})},
      {"inside one gpu", "laptop-1gpu", places({host(), gpu(0), gpu(0), host()})},
      {"file to file over a gpu", "dgx-a100", file_to_file_over_a_gpu},
      {"with digests at both ends", "hgx-h200", digest_on_a_gpu},
  };
  return all;
}

struct Outcome {
  Result<ByteVector> got;
  std::vector<std::string> leaks;
  std::map<std::string, std::uint64_t> calls;
};

/// Opens, copies, closes everything, and looks what is left.
Outcome attempt(const Canonical& copy, const ByteVector& sent, std::vector<std::string> faults) {
  Folder folder;
  write_file(folder.file("in"), sent);
  Outcome outcome{fail(ErrorKind::driver, "never ran"), {}, {}};
  std::shared_ptr<sim::Simulation> simulation;
  Options options;
  options.machine = copy.machine;
  options.faults = std::move(faults);
  if (auto session = Session::open(options)) {
    simulation = session->simulation();
    outcome.got = copy.run(*session, sent, folder);
  } else {
    outcome.got = tl::unexpected(session.error());
  }
  if (simulation != nullptr) {
    for (auto [name, count] : simulation->calls()) outcome.calls[std::string(name)] = count;
    outcome.leaks = simulation->leaks();
  }
  const std::size_t expected_files = outcome.got && std::filesystem::exists(folder.file("out")) ? 2 : 1;
  if (!outcome.got && folder.entries() > 1 && !std::filesystem::exists(folder.file("out"))) {
    outcome.leaks.push_back("a temporary file was left behind");
  }
  if (outcome.got && folder.entries() != expected_files) outcome.leaks.push_back("an unexpected file was left behind");
  return outcome;
}

class FailTheNthCall : public testing::TestWithParam<std::size_t> {};

TEST_P(FailTheNthCall, never_crashes_hangs_leaks_or_delivers_a_wrong_byte) {
  const Canonical& copy = canonical_copies()[GetParam()];
  const ByteVector sent = random_bytes(bytes, GetParam());
  const Outcome healthy = attempt(copy, sent, {});
  ASSERT_TRUE(healthy.got) << healthy.got.error().message();
  ASSERT_EQ(*healthy.got, sent);
  ASSERT_THAT(healthy.leaks, testing::IsEmpty());

  std::uint64_t injected = 0;
  std::uint64_t survived = 0;
  for (const auto& [name, count] : healthy.calls) {
    for (std::uint64_t nth = 1; nth <= count; ++nth) {
      const std::string fault = "fail:" + name + ":" + std::to_string(nth);
      SCOPED_TRACE(std::string(copy.name) + ", " + fault);
      const Outcome outcome = attempt(copy, sent, {fault});
      ++injected;
      if (outcome.got) {
        ++survived;
        EXPECT_EQ(*outcome.got, sent) << "wrong bytes without an error";
      } else {
        EXPECT_FALSE(outcome.got.error().what.empty());
      }
      // A context that refuses entry at a release keeps what lies in it. Every other failure leaves nothing behind.
      const bool refuses_entry = name == "cuCtxPushCurrent";
      if (!refuses_entry) {
        EXPECT_THAT(outcome.leaks, testing::IsEmpty());
      }
      if (HasFailure()) return;  // one is enough to read
    }
  }
  const auto kinds =
      std::count_if(healthy.calls.begin(), healthy.calls.end(), [](const auto& call) { return call.second > 0; });
  std::printf("%s: %llu calls of %td kinds made to fail, %llu survived without an error\n", copy.name,
              static_cast<unsigned long long>(injected), kinds, static_cast<unsigned long long>(survived));
  RecordProperty("injected", std::to_string(injected));
}

INSTANTIATE_TEST_SUITE_P(EightCanonicalCopies, FailTheNthCall, testing::Range<std::size_t>(0, 8), [](const auto& info) {
  std::string name = canonical_copies()[info.param].name;
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace peerlane::test

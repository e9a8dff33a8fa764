/// Row O: what Session::copy of 4 KiB costs the host on top of the raw driver call, on the caller's stream.
/// Batches of raw calls and of ours take turns, so that clock and cache changes hit both alike; the stream is drained
/// between batches so that neither waits for room in its queue.

#include <chrono>
#include <cstring>

#include "bench/support/report.hpp"
#include "vendor/cuda.hpp"

namespace {

using namespace peerlane;
using Clock = std::chrono::steady_clock;

constexpr int calls = 128;  // in one batch: far below the depth of a stream's queue
constexpr int batches = 400;
constexpr int warm_up = 20;
constexpr double target_s = 0.15e-6;

struct Road {
  const char* name;
  Place from;
  Place to;
};

template <class Call>
double seconds_per_call(const Call& call) {
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(Clock::now() - begin).count() / calls;
}

nlohmann::json measure(Session& session, const Road& road, cu::Stream stream) {
  const vendor::CudaDriver& driver = session.driver();
  const Buffer from = session.allocate(road.from, 4_KiB).value();
  const Buffer to = session.allocate(road.to, 4_KiB).value();
  if (!session.fill(from, 7)) return {};
  CopyOptions options;
  options.stream = stream;
  const Region source = from;
  const Region target = to;

  const auto raw = [&] {
    if (road.from.kind == PlaceKind::host) {
      driver.cuMemcpyHtoDAsync(target.address, source.data(), 4_KiB, stream);
    } else if (road.to.kind == PlaceKind::host) {
      driver.cuMemcpyDtoHAsync(target.data(), source.address, 4_KiB, stream);
    } else {
      driver.cuMemcpyDtoDAsync(target.address, source.address, 4_KiB, stream);
    }
  };
  const auto ours = [&] { (void)session.copy(source, target, options); };

  bench::Samples raw_s, ours_s, tax_s;
  for (int i = 0; i < warm_up + batches; ++i) {
    const double a = seconds_per_call(raw);
    driver.cuStreamSynchronize(stream);
    const double b = seconds_per_call(ours);
    driver.cuStreamSynchronize(stream);
    if (i < warm_up) continue;
    raw_s.values.push_back(a);
    ours_s.values.push_back(b);
    tax_s.values.push_back(b - a);
  }
  const bool equal = session.digest(from).value() == session.digest(to).value();
  std::printf("%-18s raw %7.1f ns   ours %7.1f ns   on top %6.1f ns (quartiles %.1f to %.1f)   %s\n", road.name,
              raw_s.median() * 1e9, ours_s.median() * 1e9, tax_s.median() * 1e9, tax_s.quantile(0.25) * 1e9,
              tax_s.quantile(0.75) * 1e9, equal ? "bytes equal" : "BYTES DIFFER");
  auto json = bench::row(session, "O", std::string("Session::copy of 4 KiB on the caller's stream, ") + road.name);
  json.update({{"ours", ours_s.median()},
               {"peer", raw_s.median()},
               {"peer_name", "the raw driver call"},
               {"tax_seconds", tax_s.median()},
               {"ratio", ours_s.median() / raw_s.median()},
               {"floor", target_s},
               {"target", target_s},
               {"samples", batches},
               {"spread", tax_s.quantile(0.75) - tax_s.quantile(0.25)},
               {"verified", equal}});
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string out;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--machine") == 0) options.machine = argv[i + 1];
    if (std::strcmp(argv[i], "--out") == 0) out = argv[i + 1];
  }
  auto session = Session::open(options);
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return exit_code(session.error().kind);
  }
  const int gpus = session->machine().gpu_count();
  if (gpus == 0) {
    std::fprintf(stderr,
                 "no GPU here; --machine dgx-h100 runs it on a simulated one (simulated host time says nothing)\n");
    return 7;
  }
  const vendor::CudaDriver& driver = session->driver();
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxPushCurrent(context);
  driver.cuStreamCreate(&stream, cu::stream_non_blocking);

  nlohmann::json rows = nlohmann::json::array();
  rows.push_back(measure(*session, {"host → gpu:0", host(), gpu(0)}, stream));
  rows.push_back(measure(*session, {"gpu:0 → host", gpu(0), host()}, stream));
  rows.push_back(measure(*session, {"gpu:0 → gpu:0", gpu(0), gpu(0)}, stream));
  if (gpus > 1) rows.push_back(measure(*session, {"gpu:0 → gpu:1", gpu(0), gpu(1)}, stream));

  bool good = true;
  for (const auto& row : rows) good = good && row["verified"] && row["tax_seconds"] <= target_s;
  std::printf("target: at most %.0f ns on top%s\n", target_s * 1e9, good ? ", met" : ": MISSED");
  driver.cuStreamDestroy(stream);
  cu::Context popped;
  driver.cuCtxPopCurrent(&popped);
  driver.cuDevicePrimaryCtxRelease(0);
  if (!out.empty() && !bench::save(rows, out)) {
    std::fprintf(stderr, "%s could not be written\n", out.c_str());
    return 1;
  }
  return session->simulated() || good ? 0 : 4;
}

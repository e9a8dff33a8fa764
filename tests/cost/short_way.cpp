/// Runs the short way and the raw call equally often, in two functions that an instruction counter can tell apart.

#include <cstdio>
#include <cstdlib>

#include "peerlane/peerlane.hpp"
#include "vendor/cuda.hpp"

using namespace peerlane;

namespace {
constexpr int calls = 1000;
}

extern "C" __attribute__((noinline)) void peerlane_measured_raw(const vendor::CudaDriver& driver, const Region& from,
                                                                const Region& to, cu::Stream stream) {
  for (int i = 0; i < calls; ++i) driver.cuMemcpyDtoDAsync(to.address, from.address, from.bytes, stream);
}

extern "C" __attribute__((noinline)) void peerlane_measured_ours(Session& session, const Region& from, const Region& to,
                                                                 const CopyOptions& options) {
  for (int i = 0; i < calls; ++i) (void)session.copy(from, to, options);
}

int main() {
  Options options;
  options.machine = "dgx-h100";
  Session session = Session::open(options).value();
  const vendor::CudaDriver& driver = session.driver();
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxPushCurrent(context);
  driver.cuStreamCreate(&stream, cu::stream_non_blocking);
  {
    const Buffer from = session.allocate(gpu(0), 4_KiB).value();
    const Buffer to = session.allocate(gpu(1), 4_KiB).value();
    CopyOptions copy;
    copy.stream = stream;
    (void)session.copy(from, to, copy);  // learns the way
    driver.cuStreamSynchronize(stream);
    peerlane_measured_raw(driver, from, to, stream);
    driver.cuStreamSynchronize(stream);
    peerlane_measured_ours(session, from, to, copy);
    driver.cuStreamSynchronize(stream);
  }
  driver.cuStreamDestroy(stream);
  cu::Context popped;
  driver.cuCtxPopCurrent(&popped);
  driver.cuDevicePrimaryCtxRelease(0);
  return 0;
}

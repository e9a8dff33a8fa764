/// Copies between two GPUs, this machine's or a simulated one's, and says how it went.
///
///   first_copy [MACHINE]

#include <cstdio>

#include "peerlane/peerlane.hpp"

using namespace peerlane;

int main(int argc, char** argv) try {
  Options options;
  if (argc > 1) options.machine = argv[1];
  Session session = Session::open(options).value();
  if (session.machine().gpu_count() == 0) {
    std::puts("no GPU here; try: first_copy dgx-h100");
    return 7;
  }
  const Place near = gpu(0);
  const Place far = gpu(session.machine().gpu_count() - 1);

  const Buffer from = session.allocate(near, 256_MiB).value();
  const Buffer to = session.allocate(far, 256_MiB).value();
  if (auto filled = session.fill(from, 1); !filled) throw tl::bad_expected_access<Error>(filled.error());

  std::fputs(to_text(session.plan(from, to).value()).c_str(), stdout);

  Transfer copy = session.copy(from, to, {.timed = true, .verify = true}).value();
  const Receipt receipt = copy.wait().value();
  std::printf("%s → %s: %.1f GB/s%s%s\n", receipt.from_name.c_str(), receipt.to_name.c_str(),
              receipt.bytes_per_s() / 1e9, receipt.simulated ? ", simulated" : "",
              receipt.verified.value_or(false) ? ", digests equal" : "");
  return 0;
} catch (const tl::bad_expected_access<Error>& failed) {
  std::fprintf(stderr, "%s\n", failed.error().message().c_str());
  return exit_code(failed.error().kind);
}

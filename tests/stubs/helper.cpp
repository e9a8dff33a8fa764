/// A peerlane-probe gone wrong, in the way that STUB_BEHAVIOUR names.

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

[[maybe_unused]] int hang() {
  for (;;) pause();
}

[[maybe_unused]] int speak_then_hang() {
  std::puts(R"({"schema":"peerlane.nvml/1","available":true,"gpus":[],"pairs":[],"notes":[]})");
  std::fflush(stdout);
  for (;;) pause();
}

[[maybe_unused]] int garbage() {
  std::puts("{\"schema\": \"peerlane.nvml/1\", \"gpus\": [ ...");
  return 0;
}

[[maybe_unused]] int flood() {
  const std::string block(1 << 20, ' ');
  for (int i = 0; i < 100; ++i) std::fwrite(block.data(), 1, block.size(), stdout);
  return 0;
}

[[maybe_unused]] int crash() {
  std::abort();
}

[[maybe_unused]] int fail() {
  std::fputs("nothing works\n", stderr);
  return 3;
}

[[maybe_unused]] int stay_silent() {
  return 0;
}

/// The child keeps the pipe open long after the helper itself has ended.
[[maybe_unused]] int leave_a_child() {
  std::puts("{}");
  std::fflush(stdout);
  if (fork() == 0) {
    sleep(20);
    _exit(0);
  }
  return 0;
}

/// Prints how many descriptors it was given.
[[maybe_unused]] int tell_what_it_holds() {
  int held = -1;  // the folder's own
  DIR* folder = opendir("/proc/self/fd");
  while (dirent* entry = readdir(folder)) held += entry->d_name[0] != '.';
  closedir(folder);
  std::printf("%d\n", held);
  return 0;
}

}  // namespace

int main() {
  return STUB_BEHAVIOUR();
}

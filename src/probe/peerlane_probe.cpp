/// peerlane-probe nvml [--library PATH]: prints what NVML knows of this machine, one JSON document, and ends.

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "probe/nvml_report.hpp"

namespace {

constexpr int exit_write_failed = 1;
constexpr int exit_usage = 2;

/// The library to load, or nothing when the words make no sense.
std::optional<std::string> library_from(int count, char** words) {
  if (count < 2 || std::string_view(words[1]) != "nvml") return std::nullopt;
  if (count == 2) return "libnvidia-ml.so.1";
  if (count == 4 && std::string_view(words[2]) == "--library") return words[3];
  return std::nullopt;
}

bool print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

}  // namespace

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);     // a reader that went away is a failed write, not a crash
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read what comes after the caller's end
  const auto library = library_from(count, words);
  if (!library) {
    std::fputs("usage: peerlane-probe nvml [--library PATH]\n", stderr);
    return exit_usage;
  }
  const auto report = peerlane::probe::nvml_report(*library);
  // Names come from a driver: bytes that are no UTF-8 are replaced, not thrown at.
  const bool printed = print(report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  // Straight out: the library's own clean-up at exit may hang on a sick driver, and the document is written.
  _exit(printed ? 0 : exit_write_failed);
}

#include "output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/try.hpp"

namespace peerlane::cli {

namespace {

/// 0, or the errno that stopped it.
int write_all(int stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(stream, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void guard_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Opened read-only, so that writing to it still fails. open() answers the lowest free number: this one.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != stream) ::_exit(1);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

Result<void> write_out(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return {};
  return fail(ErrorKind::io, std::string("the answer cannot be written: ") + std::strerror(error), "standard output",
              {}, error);
}

Result<void> write_document(std::string_view text) {
  PEERLANE_TRY(write_out(text));
  return text.ends_with('\n') ? Result<void>{} : write_out("\n");
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const auto refused = [&](int error) {
    return fail(ErrorKind::io, std::string("the file cannot be written: ") + std::strerror(error), path, {}, error);
  };
  const std::string unfinished = path + ".unfinished";
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return refused(errno);
  int error = write_all(file, text);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(unfinished.c_str());
  return refused(error);
}

void write_error(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

}  // namespace peerlane::cli

#include "memory/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/text.hpp"
#include "base/try.hpp"
#include "memory/file_errors.hpp"

namespace peerlane {
namespace {

constexpr Bytes most_per_call = 0x7ffff000;  // Linux moves no more in one read or write

Bytes direct_alignment() {
  // Whole pages of the page cache, so that a buffered neighbour never shares one with a direct write.
  static const Bytes alignment = std::max<Bytes>(4_KiB, static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
  return alignment;
}

bool aligned(std::uint64_t value) {
  return value % direct_alignment() == 0;
}

std::string reopened(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

/// Moves [address, address + bytes) in as many calls as it takes. The aligned part goes by the direct descriptor, the
/// rest, and whatever that one refuses, by the buffered one. `move` is pread or pwrite.
template <class Move>
Result<void> move_all(int fd, int direct_fd, std::uint64_t address, Bytes bytes, Bytes offset, Move move) {
  bool direct = direct_fd >= 0;
  while (bytes > 0) {
    const Bytes whole = bytes - bytes % direct_alignment();
    const bool now_direct = direct && whole > 0 && aligned(address) && aligned(offset);
    const Bytes count = std::min(now_direct ? whole : bytes, most_per_call);
    const Result<Bytes> moved = move(now_direct ? direct_fd : fd, address, count, offset);
    if (!moved && now_direct && moved.error().code == EINVAL) {
      direct = false;  // some devices want more than 4 KiB
      continue;
    }
    const Bytes done = PEERLANE_TRY(moved);
    address += done;
    offset += done;
    bytes -= done;
  }
  return {};
}

}  // namespace

Error file_error(const std::string& path, const std::string& what, int code) {
  const ErrorKind kind = code == ENOENT ? ErrorKind::not_found : ErrorKind::io;
  return {kind, what + ": " + std::generic_category().message(code), path, "", code};
}

Result<std::unique_ptr<File>> File::open_source(const std::string& path) {
  std::unique_ptr<File> file(new File);
  file->path_ = path;
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever.
  file->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file->fd_ < 0) return tl::unexpected(file_error(path, "the file cannot be opened for reading", errno));
  struct stat facts {};
  if (fstat(file->fd_, &facts) != 0) return tl::unexpected(file_error(path, "the file cannot be examined", errno));
  if (!S_ISREG(facts.st_mode)) {
    return fail(ErrorKind::io, "it is " + kind_of(facts.st_mode) + ", expected a regular file", path);
  }
  file->size_ = static_cast<Bytes>(facts.st_size);
  file->open_direct(O_RDONLY);
  return file;
}

/// Through /proc, so that it is the same file whatever its name has become. Refused (tmpfs, some overlays and network
/// file systems): then there is the page cache.
void File::open_direct(int flags) {
  direct_fd_ = open(reopened(fd_).c_str(), flags | O_DIRECT | O_CLOEXEC);
}

void File::stop_direct() {
  if (direct_fd_ >= 0) close(direct_fd_);
  direct_fd_ = -1;
}

File::~File() {
  stop_direct();
  if (fd_ >= 0) close(fd_);
  if (!committed_ && !temporary_.empty()) unlinkat(directory_fd_, temporary_.c_str(), 0);
  if (directory_fd_ >= 0) close(directory_fd_);
}

Result<void> File::check_range(const char* verb, Bytes bytes, Bytes offset) const {
  if (offset <= size_ && bytes <= size_ - offset) return {};
  return fail(ErrorKind::invalid_argument,
              std::string(verb) + " of " + format_bytes(bytes) + " at byte " + std::to_string(offset) +
                  " leaves the file, which has " + std::to_string(size_) + " bytes",
              path_);
}

Result<void> File::read(void* to, Bytes bytes, Bytes offset) {
  PEERLANE_TRY(check_range("a read", bytes, offset));
  const auto take = [&](int fd, std::uint64_t address, Bytes count, Bytes at) -> Result<Bytes> {
    ssize_t got = 0;
    do {
      got = pread(fd, reinterpret_cast<void*>(address), count, static_cast<off_t>(at));
    } while (got < 0 && errno == EINTR);
    if (got > 0) return static_cast<Bytes>(got);
    const std::string where = "at byte " + std::to_string(at) + " of " + std::to_string(size_);
    if (got < 0) return tl::unexpected(file_error(path_, "reading failed " + where, errno));
    return fail(ErrorKind::io, "the file ended " + where + ": it was cut while it was read", path_);
  };
  const int direct_fd = direct() && !in_page_cache(bytes, offset) ? direct_fd_ : -1;
  return move_all(fd_, direct_fd, reinterpret_cast<std::uint64_t>(to), bytes, offset, take);
}

Result<void> File::write(const void* from, Bytes bytes, Bytes offset) {
  PEERLANE_TRY(check_range("a write", bytes, offset));
  const auto put = [&](int fd, std::uint64_t address, Bytes count, Bytes at) -> Result<Bytes> {
    ssize_t written = 0;
    do {
      written = pwrite(fd, reinterpret_cast<const void*>(address), count, static_cast<off_t>(at));
    } while (written < 0 && errno == EINTR);
    if (written > 0) return static_cast<Bytes>(written);
    const std::string what = "writing failed at byte " + std::to_string(at) + " of " + std::to_string(size_);
    return tl::unexpected(file_error(path_, what, written < 0 ? errno : EIO));
  };
  return move_all(fd_, direct_fd_, reinterpret_cast<std::uint64_t>(from), bytes, offset, put);
}

/// cachestat counts the cached pages of a range; kernels before 6.5 do not have it.
bool File::in_page_cache([[maybe_unused]] Bytes bytes, [[maybe_unused]] Bytes offset) const {
  constexpr long cachestat_number = 451;  // the same on every architecture; Debian 12's headers lack the name
  struct Range {
    std::uint64_t offset, bytes;
  } range{offset, bytes};
  struct Counts {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } counts{};
  if (bytes == 0 || syscall(cachestat_number, fd_, &range, &counts, 0u) != 0) return false;
  const auto page = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  const Bytes pages = (offset + bytes + page - 1) / page - offset / page;
  return counts.cached >= pages;
}

Result<void> File::sync() {
  int status = 0;
  do {
    status = fdatasync(fd_);
  } while (status != 0 && errno == EINTR);
  if (status == 0) return {};
  return tl::unexpected(file_error(path_, "the file did not reach its disk", errno));
}

bool same_file(const File& file, const std::string& path) {
  struct stat here {};
  struct stat there {};
  return fstat(file.fd_, &here) == 0 && stat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

}  // namespace peerlane

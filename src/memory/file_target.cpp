#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/text.hpp"
#include "base/try.hpp"
#include "memory/file.hpp"
#include "memory/file_errors.hpp"

namespace peerlane {
namespace {

constexpr int most_names_tried = 16;

struct Split {
  std::string directory;
  std::string name;
};

Split split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// The path with its last part's links followed, since a link is to be written through and not replaced.
Result<std::string> behind_links(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return path;
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (real == nullptr) return tl::unexpected(file_error(path, "it is a link that leads to no file", errno));
  return std::string(real.get());
}

/// ".name.0123456789abcdef.peerlane", cut where file systems would: names have 255 bytes.
Result<std::string> hidden_name(const std::string& name) {
  std::uint64_t chance = 0;
  if (getrandom(&chance, sizeof chance, 0) != static_cast<ssize_t>(sizeof chance)) {
    return tl::unexpected(file_error(name, "no random name can be drawn", errno));
  }
  return fmt::format(".{}.{:016x}.peerlane", name.substr(0, 200), chance);
}

Error no_room(const std::string& path, const std::string& directory, Bytes bytes, int fd, int code) {
  std::string what = "no room for " + format_bytes(bytes) + " on the file system of " + directory;
  struct statvfs facts {};
  if (fstatvfs(fd, &facts) == 0) what += "; " + format_bytes(Bytes{facts.f_bavail} * facts.f_frsize) + " are free";
  return {ErrorKind::io, std::move(what), path, code == EDQUOT ? "a quota limits it" : "", code};
}

/// Exceeding the limit would raise SIGXFSZ, which ends a process that does not expect it.
Result<void> check_size_limit(const std::string& path, Bytes bytes) {
  if (bytes > static_cast<Bytes>(std::numeric_limits<off_t>::max())) {
    return fail(ErrorKind::invalid_argument, format_bytes(bytes) + " were asked for, more than a file can have", path);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) return {};
  return fail(ErrorKind::io,
              "no room for " + format_bytes(bytes) + ": this process may write files of " +
                  format_bytes(limit.rlim_cur) + " at most",
              path, "`ulimit -f` sets the limit", EFBIG);
}

int fallocate_all(int fd, Bytes bytes) {
  int status = 0;
  do {
    status = fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (status == EINTR);
  return status;
}

/// For file systems that cannot claim room ahead: the size is set, and what is free now is looked at.
int extend(int fd, Bytes bytes) {
  struct statvfs facts {};
  if (fstatvfs(fd, &facts) == 0 && bytes > Bytes{facts.f_bavail} * facts.f_frsize) return ENOSPC;
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

}  // namespace

Result<std::unique_ptr<File>> File::open_target(const std::string& path, Bytes bytes) {
  std::unique_ptr<File> file(new File);
  file->path_ = path;
  file->size_ = bytes;
  file->target_ = true;
  PEERLANE_TRY(check_size_limit(path, bytes));
  PEERLANE_TRY(file->examine_target());
  PEERLANE_TRY(file->create());
  PEERLANE_TRY(file->claim_room());
  file->open_direct(O_RDWR);
  return file;
}

/// What stands where the target will: nothing, or a regular file that may be written.
Result<void> File::examine_target() {
  const Split parts = split(PEERLANE_TRY(behind_links(path_)));
  name_ = parts.name;
  directory_ = parts.directory;
  if (name_.empty() || name_ == "." || name_ == "..") {
    return fail(ErrorKind::io, "it names no file, expected one in an existing directory", path_);
  }
  directory_fd_ = open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_fd_ < 0) {
    return tl::unexpected(file_error(path_, "the directory " + directory_ + " cannot be entered", errno));
  }
  struct stat facts {};
  if (fstatat(directory_fd_, name_.c_str(), &facts, 0) != 0) {
    if (errno == ENOENT) return {};
    return tl::unexpected(file_error(path_, "what stands there cannot be examined", errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    const std::string what = S_ISDIR(facts.st_mode) ? "a directory" : "no regular file";
    return fail(ErrorKind::io, "there is " + what + " of that name, expected a regular file or nothing", path_);
  }
  if (faccessat(directory_fd_, name_.c_str(), W_OK, AT_EACCESS) != 0) {
    return tl::unexpected(file_error(path_, "the file that stands there may not be replaced", errno));
  }
  replaced_ = {true, facts.st_mode & 0777, facts.st_uid, facts.st_gid};
  return {};
}

Result<void> File::create() {
  fd_ = openat(directory_fd_, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0) return {};
  // File systems without O_TMPFILE say EOPNOTSUPP, kernels without it EISDIR.
  if (errno == EOPNOTSUPP || errno == EISDIR) return create_hidden();
  return tl::unexpected(file_error(path_, "no file can be made in " + directory_, errno));
}

Result<void> File::create_hidden() {
  for (int i = 0; i < most_names_tried; ++i) {
    std::string name = PEERLANE_TRY(hidden_name(name_));
    fd_ = openat(directory_fd_, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      temporary_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return tl::unexpected(file_error(path_, "no file can be made in " + directory_, errno));
}

Result<void> File::claim_room() {
  if (size_ == 0) return {};
  int code = fallocate_all(fd_, size_);
  if (code == EOPNOTSUPP || code == ENOSYS) code = extend(fd_, size_);
  if (code == 0) return {};
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) {
    return tl::unexpected(no_room(path_, directory_, size_, fd_, code));
  }
  return tl::unexpected(file_error(path_, "room for " + format_bytes(size_) + " cannot be claimed", code));
}

Result<void> File::commit(bool durable) {
  if (!target_) return fail(ErrorKind::invalid_argument, "it was opened for reading, and has its name", path_);
  if (!committed_) keep_permissions();
  if (durable) PEERLANE_TRY(sync());
  if (!committed_) PEERLANE_TRY(give_name());
  committed_ = true;
  return durable ? sync_directory() : Result<void>{};
}

/// As far as this process may: where the owner cannot be kept, the file becomes ours and its group gets no access.
void File::keep_permissions() const {
  if (!replaced_.exists) return;
  const bool kept = fchown(fd_, replaced_.owner, replaced_.group) == 0;
  const mode_t mode = kept ? replaced_.mode : replaced_.mode & ~mode_t{S_IRWXG};
  static_cast<void>(fchmod(fd_, mode));  // the file is whole either way
}

/// Nothing stands under the name, or the whole file does: it is linked there, or renamed over the old one.
Result<void> File::give_name() {
  if (temporary_.empty()) {
    if (link_as(name_)) return {};
    for (int i = 0; i < most_names_tried && errno == EEXIST && temporary_.empty(); ++i) {
      std::string name = PEERLANE_TRY(hidden_name(name_));
      if (link_as(name)) temporary_ = std::move(name);
    }
    if (temporary_.empty()) return tl::unexpected(file_error(path_, "the file cannot be given its name", errno));
  }
  if (renameat(directory_fd_, temporary_.c_str(), directory_fd_, name_.c_str()) == 0) return {};
  return tl::unexpected(file_error(path_, "the file cannot be given its name", errno));
}

/// Sets errno. Where /proc is not mounted, the descriptor itself can be linked, with privileges or since Linux 6.10.
bool File::link_as(const std::string& name) const {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  if (linkat(AT_FDCWD, self.c_str(), directory_fd_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  return errno == ENOENT && linkat(fd_, "", directory_fd_, name.c_str(), AT_EMPTY_PATH) == 0;
}

Result<void> File::sync_directory() {
  const int fd = openat(directory_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int code = errno;
  if (fd >= 0) close(fd);
  if (synced) return {};
  return tl::unexpected(file_error(path_, "its name did not reach the disk with " + directory_, code));
}

}  // namespace peerlane

#pragma once
/// A file as an end of a copy.

#include <memory>
#include <string>

#include <sys/types.h>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

/// Open for reading, or a target that stands under its name only once it is committed.
///
/// Several threads may read, or write disjoint ranges, at once. Opening, `commit` and destruction are one thread's.
class File {
 public:
  /// Regular files only: a FIFO, a directory or a device is refused without blocking on it.
  static Result<std::unique_ptr<File>> open_source(const std::string& path);
  /// Room for `bytes` is claimed at once (a full disk is found out now), under no name where the file system can
  /// (O_TMPFILE), else under a hidden one beside the target, unlinked unless committed. A link is followed; a file that
  /// may not be written is not replaced either.
  static Result<std::unique_ptr<File>> open_target(const std::string& path, Bytes bytes);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Gives the file its name, replacing what stood there and taking over its permissions. `durable`: fdatasync of the
  /// file first, of the directory after. Once it has its name, only `durable` has anything left to do.
  Result<void> commit(bool durable = false);
  Result<void> sync();

  /// Whole or an error that names the file and the offset; resumes after short reads and EINTR.
  /// Uses O_DIRECT where the file system takes it and buffer, offset and size are aligned to 4 KiB (64 KiB where pages
  /// are that large); not for a source that is in the page cache already, which is faster.
  Result<void> read(void* to, Bytes bytes, Bytes offset);
  Result<void> write(const void* from, Bytes bytes, Bytes offset);

  const std::string& path() const { return path_; }
  Bytes size() const { return size_; }
  bool direct() const { return direct_fd_ >= 0; }
  bool is_target() const { return target_; }

  /// From here on through the page cache alone.
  void stop_direct();

 private:
  friend bool same_file(const File& file, const std::string& path);

  /// What a new file needs to know of the one it replaces.
  struct Replaced {
    bool exists = false;
    mode_t mode = 0;
    uid_t owner = 0;
    gid_t group = 0;
  };
  File() = default;
  Result<void> examine_target();
  Result<void> create();
  Result<void> create_hidden();
  Result<void> claim_room();
  Result<void> give_name();
  Result<void> sync_directory();
  Result<void> check_range(const char* verb, Bytes bytes, Bytes offset) const;
  bool in_page_cache(Bytes bytes, Bytes offset) const;
  void open_direct(int flags);
  bool link_as(const std::string& name) const;
  void keep_permissions() const;

  std::string path_;
  std::string name_;       ///< targets: last part of the path, links resolved
  std::string directory_;  ///< targets: the rest of it, for sentences
  std::string temporary_;  ///< hidden name; empty under O_TMPFILE
  Replaced replaced_;
  int directory_fd_ = -1;  ///< targets: holds on to the directory whatever happens to its path
  int fd_ = -1;
  int direct_fd_ = -1;  ///< the same file opened with O_DIRECT, -1 where refused
  Bytes size_ = 0;
  bool target_ = false;
  bool committed_ = false;
};

/// Does this path lead to the very file that is open here? False for a path that leads nowhere.
bool same_file(const File& file, const std::string& path);

}  // namespace peerlane

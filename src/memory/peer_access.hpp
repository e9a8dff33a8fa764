#pragma once
/// Peer access: permission, one way, for one GPU to reach another's memory. Counted, and undone by the last holder.

#include <map>
#include <memory>
#include <mutex>

#include "memory/contexts.hpp"

namespace peerlane::memory {

class PeerTable : public std::enable_shared_from_this<PeerTable> {
 public:
  explicit PeerTable(std::shared_ptr<Contexts> contexts) : contexts_(std::move(contexts)) {}

  /// Opens reader → owner for memory of cuMemAlloc. The hold keeps it open; what somebody else in the process had
  /// enabled before is used and never undone. The current context is left as found. A GPU reaches its own memory
  /// anyway: such a hold is given and does nothing.
  Result<std::shared_ptr<void>> allow(int reader, int owner);
  bool is_open(int reader, int owner) const;

 private:
  struct Way {
    int holders = 0;
    bool ours = false;  ///< false: it was enabled before we came
  };
  struct Hold;
  Result<bool> enable(int reader, int owner);
  void disable(int reader, int owner) noexcept;
  void drop(int reader, int owner) noexcept;
  std::shared_ptr<Contexts> contexts_;
  mutable std::mutex mutex_;
  std::map<std::pair<int, int>, Way> ways_;
};

}  // namespace peerlane::memory

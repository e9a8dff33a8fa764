#pragma once
/// What flights borrow: words that a stream waits on until the host is done, and peer access.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/memory.hpp"
#include "memory/peer_access.hpp"

namespace peerlane::engine {

/// A word in pinned memory. The caller's stream waits until it reaches the value that the host writes at the end.
class Gates {
 public:
  struct Gate {
    std::uint32_t* word = nullptr;
    std::uint32_t value = 0;
    int slot = -1;
  };
  explicit Gates(std::shared_ptr<memory::Memory> memory) : memory_(std::move(memory)) {}
  Result<Gate> close();
  /// Lets the stream go on.
  void open(const Gate& gate) noexcept;
  /// After the stream has passed it.
  void give_back(const Gate& gate) noexcept;

 private:
  static constexpr int words = 1024;
  std::shared_ptr<memory::Memory> memory_;
  std::mutex mutex_;
  Buffer page_;
  std::vector<int> idle_;
  std::vector<std::uint32_t> last_;
};

/// Peer access that copies have needed so far; kept open until the session ends, since opening costs 10 ms.
class StandingAccess {
 public:
  explicit StandingAccess(std::shared_ptr<memory::PeerTable> peers) : peers_(std::move(peers)) {}
  Result<void> open(int reader, int owner);

 private:
  std::shared_ptr<memory::PeerTable> peers_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::shared_ptr<void>> held_;
};

}  // namespace peerlane::engine

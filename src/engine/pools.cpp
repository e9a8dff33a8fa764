#include "engine/pools.hpp"

#include <atomic>
#include <cstring>
#include <numeric>

#include "base/try.hpp"

namespace peerlane::engine {

Result<Gates::Gate> Gates::close() {
  std::lock_guard lock(mutex_);
  if (page_.bytes() == 0) {
    page_ = PEERLANE_TRY(memory_->allocate(host(), words * sizeof(std::uint32_t)));
    std::memset(page_.data(), 0, page_.bytes());
    idle_.resize(words);
    std::iota(idle_.begin(), idle_.end(), 0);
    last_.assign(words, 0);
  }
  if (idle_.empty()) {
    return fail(ErrorKind::unavailable, "1024 host-progressed copies already hold a stream each", "stream",
                "wait for some of them first");
  }
  Gate gate;
  gate.slot = idle_.back();
  idle_.pop_back();
  gate.word = reinterpret_cast<std::uint32_t*>(page_.data()) + gate.slot;
  gate.value = ++last_[static_cast<std::size_t>(gate.slot)];
  return gate;
}

void Gates::open(const Gate& gate) noexcept {
  std::atomic_ref<std::uint32_t>(*gate.word).store(gate.value, std::memory_order_release);
}

void Gates::give_back(const Gate& gate) noexcept {
  std::lock_guard lock(mutex_);
  idle_.push_back(gate.slot);
}

Result<void> StandingAccess::open(int reader, int owner) {
  std::lock_guard lock(mutex_);
  auto& hold = held_[{reader, owner}];
  if (hold == nullptr) hold = PEERLANE_TRY(peers_->allow(reader, owner));
  return {};
}

}  // namespace peerlane::engine

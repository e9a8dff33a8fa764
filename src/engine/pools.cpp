#include "engine/pools.hpp"

#include <atomic>
#include <cstring>
#include <numeric>

#include "base/try.hpp"

namespace peerlane::engine {

Streams::Streams(std::shared_ptr<memory::Contexts> contexts)
    : contexts_(std::move(contexts)), idle_(static_cast<std::size_t>(contexts_->gpu_count())) {}

Streams::~Streams() {
  for (int gpu = 0; gpu < static_cast<int>(idle_.size()); ++gpu) {
    if (idle_[gpu].empty() || contexts_->abandoned(gpu)) continue;
    auto context = contexts_->context(gpu);
    if (!context) continue;
    vendor::ContextScope scope(contexts_->driver(), *context);
    for (cu::Stream stream : idle_[gpu]) contexts_->driver().cuStreamDestroy(stream);
  }
}

Result<cu::Stream> Streams::borrow(int gpu) {
  {
    std::lock_guard lock(mutex_);
    auto& idle = idle_.at(static_cast<std::size_t>(gpu));
    if (!idle.empty()) {
      cu::Stream stream = idle.back();
      idle.pop_back();
      return stream;
    }
  }
  const vendor::CudaDriver& driver = contexts_->driver();
  const cu::Context context = PEERLANE_TRY(contexts_->context(gpu));
  const std::string where = to_string(peerlane::gpu(gpu));
  vendor::ContextScope scope(driver, context);
  PEERLANE_TRY(vendor::check(driver, scope.status(), "cuCtxPushCurrent", where));
  cu::Stream stream = nullptr;
  PEERLANE_TRY(vendor::check(driver, driver.cuStreamCreate(&stream, cu::stream_non_blocking), "cuStreamCreate", where));
  return stream;
}

void Streams::give_back(int gpu, cu::Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  idle_[static_cast<std::size_t>(gpu)].push_back(stream);
}

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

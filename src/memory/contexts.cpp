#include "memory/contexts.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "peerlane/place.hpp"

namespace peerlane::memory {

using vendor::check;
using vendor::ContextScope;

Contexts::Contexts(const vendor::CudaDriver& driver, int gpu_count)
    : driver_(driver),
      gpu_count_(std::clamp(gpu_count, 0, most_gpus)),
      cards_(std::make_unique<Card[]>(static_cast<std::size_t>(gpu_count_))) {}

Contexts::~Contexts() {
  for (int gpu = 0; gpu < gpu_count_; ++gpu) {
    if (retained(gpu) && !abandoned(gpu)) driver_.cuDevicePrimaryCtxRelease(cards_[gpu].device);
  }
}

Result<cu::Context> Contexts::context(int gpu) {
  if (exists(gpu)) [[likely]] {
    const Card& card = cards_[gpu];
    const cu::Context context = card.context.load(std::memory_order_acquire);
    if (context != nullptr && !card.abandoned.load(std::memory_order_relaxed)) [[likely]]
      return context;
  }
  return retain(gpu);
}

Result<cu::Context> Contexts::retain(int gpu) {
  const std::string place = to_string(peerlane::gpu(gpu));
  if (!exists(gpu)) {
    return fail(ErrorKind::not_found, "there are " + std::to_string(gpu_count_) + " GPUs, counted from 0", place);
  }
  if (abandoned(gpu)) {
    return fail(ErrorKind::device_lost, "this GPU was given up after an earlier error or a stuck engine", place,
                "end the process to use it again");
  }
  Card& card = cards_[gpu];
  std::lock_guard lock(card.mutex);
  if (const cu::Context ready = card.context.load(); ready != nullptr) return ready;
  PEERLANE_TRY(check(driver_, driver_.cuDeviceGet(&card.device, gpu), "cuDeviceGet", place));
  cu::Context context = nullptr;
  const cu::Status status = driver_.cuDevicePrimaryCtxRetain(&context, card.device);
  PEERLANE_TRY(check(driver_, status, "cuDevicePrimaryCtxRetain", place));
  card.context.store(context, std::memory_order_release);
  return context;
}

int Contexts::gpu_of(cu::Context context) const {
  if (context == nullptr) return -1;
  for (int gpu = 0; gpu < gpu_count_; ++gpu) {
    if (cards_[gpu].context.load(std::memory_order_acquire) == context) return gpu;
  }
  return -1;
}

bool Contexts::retained(int gpu) const {
  return exists(gpu) && cards_[gpu].context.load(std::memory_order_acquire) != nullptr;
}

void Contexts::abandon(int gpu) {
  if (exists(gpu)) cards_[gpu].abandoned.store(true, std::memory_order_release);
}

bool Contexts::abandoned(int gpu) const {
  return exists(gpu) && cards_[gpu].abandoned.load(std::memory_order_acquire);
}

Streams::~Streams() {
  for (int gpu = 0; gpu < Contexts::most_gpus; ++gpu) {
    if (idle_[gpu].empty() || contexts_.abandoned(gpu)) continue;
    const auto context = contexts_.context(gpu);
    if (!context) continue;
    ContextScope scope(contexts_.driver(), *context);
    for (const cu::Stream stream : idle_[gpu]) contexts_.driver().cuStreamDestroy(stream);
  }
}

Result<cu::Stream> Streams::borrow(int gpu) {
  const vendor::CudaDriver& driver = contexts_.driver();
  const cu::Context context = PEERLANE_TRY(contexts_.context(gpu));
  {
    std::lock_guard lock(mutex_);
    std::vector<cu::Stream>& idle = idle_[gpu];
    if (!idle.empty()) {
      const cu::Stream stream = idle.back();
      idle.pop_back();
      return stream;
    }
  }
  const std::string place = to_string(peerlane::gpu(gpu));
  ContextScope scope(driver, context);
  PEERLANE_TRY(check(driver, scope.status(), "cuCtxPushCurrent", place));
  cu::Stream stream = nullptr;
  PEERLANE_TRY(check(driver, driver.cuStreamCreate(&stream, cu::stream_non_blocking), "cuStreamCreate", place));
  return stream;
}

void Streams::give_back(int gpu, cu::Stream stream) noexcept {
  std::lock_guard lock(mutex_);
  idle_[gpu].push_back(stream);
}

Events::~Events() {
  for (int gpu = 0; gpu < Contexts::most_gpus; ++gpu) {
    std::vector<cu::Event>& idle = pools_[gpu].idle;
    if (idle.empty() || contexts_.abandoned(gpu)) continue;
    const auto context = contexts_.context(gpu);
    if (!context) continue;
    ContextScope scope(contexts_.driver(), *context);
    for (const cu::Event event : idle) contexts_.driver().cuEventDestroy(event);
  }
}

Result<cu::Event> Events::borrow(int gpu) {
  {
    std::lock_guard lock(mutex_);
    if (gpu >= 0 && gpu < Contexts::most_gpus && !contexts_.abandoned(gpu)) {
      std::vector<cu::Event>& idle = pools_[gpu].idle;
      if (!idle.empty()) {
        const cu::Event event = idle.back();
        idle.pop_back();
        return event;
      }
    }
  }
  return make(gpu);
}

Result<cu::Event> Events::make(int gpu) {
  const vendor::CudaDriver& driver = contexts_.driver();
  const cu::Context context = PEERLANE_TRY(contexts_.context(gpu));
  const std::string place = to_string(peerlane::gpu(gpu));
  ContextScope scope(driver, context);
  PEERLANE_TRY(check(driver, scope.status(), "cuCtxPushCurrent", place));
  {
    std::lock_guard lock(mutex_);
    Pool& pool = pools_[gpu];
    if (++pool.made > pool.idle.capacity()) pool.idle.reserve(2 * pool.made);
  }
  cu::Event event = nullptr;
  PEERLANE_TRY(check(driver, driver.cuEventCreate(&event, flags_), "cuEventCreate", place));
  return event;
}

void Events::give_back(int gpu, cu::Event event) noexcept {
  if (event == nullptr || contexts_.abandoned(gpu)) return;
  std::lock_guard lock(mutex_);
  pools_[gpu].idle.push_back(event);
}

}  // namespace peerlane::memory

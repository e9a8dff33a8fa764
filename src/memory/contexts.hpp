#pragma once
/// Primary contexts, retained when first needed and released at the end, so that Peerlane and the CUDA runtime share
/// memory. Also the streams and events that transfers borrow.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "peerlane/result.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::memory {

class Contexts {
 public:
  static constexpr int most_gpus = 64;

  Contexts(const vendor::CudaDriver& driver, int gpu_count);
  ~Contexts();  ///< releases contexts; streams and events of a lost or stuck GPU are left to the driver
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  /// The primary context of a GPU; retains it at the first call. Thread-safe, lock-free afterwards. `device_lost` for
  /// an abandoned GPU, so that new work is refused with the cause instead of queueing behind what is stuck.
  Result<cu::Context> context(int gpu);
  /// Which GPU a context of ours belongs to; -1 for a foreign one.
  int gpu_of(cu::Context context) const;
  int gpu_count() const { return gpu_count_; }
  /// Whether its context is retained already: using it costs no further memory.
  bool retained(int gpu) const;

  /// After a sticky error or a stuck engine: destructors do not touch this GPU any more.
  void abandon(int gpu);
  bool abandoned(int gpu) const;

  const vendor::CudaDriver& driver() const { return driver_; }

 private:
  struct Card {
    std::mutex mutex;
    std::atomic<cu::Context> context{nullptr};
    std::atomic<bool> abandoned{false};
    cu::Device device = 0;  ///< known once `context` is
  };
  bool exists(int gpu) const { return gpu >= 0 && gpu < gpu_count_; }
  Result<cu::Context> retain(int gpu);

  const vendor::CudaDriver& driver_;
  int gpu_count_;
  std::unique_ptr<Card[]> cards_;
};

/// Non-blocking streams, one borrower at a time, so that independent transfers never queue behind each other.
class Streams {
 public:
  explicit Streams(Contexts& contexts) : contexts_(contexts) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Result<cu::Stream> borrow(int gpu);
  /// Only a quiet stream is given back; one that hangs is dropped with its GPU.
  void give_back(int gpu, cu::Stream stream) noexcept;

 private:
  Contexts& contexts_;
  std::mutex mutex_;
  std::vector<std::vector<cu::Stream>> idle_{static_cast<std::size_t>(Contexts::most_gpus)};
};

/// Events of one GPU, borrowed and returned; creating one costs microseconds, so they are kept.
class Events {
 public:
  Events(Contexts& contexts, unsigned flags) : contexts_(contexts), flags_(flags) {}
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  Result<cu::Event> borrow(int gpu);
  void give_back(int gpu, cu::Event event) noexcept;

 private:
  struct Pool {
    std::vector<cu::Event> idle;  ///< has room for every event made, so giving back never allocates
    std::size_t made = 0;
  };
  Result<cu::Event> make(int gpu);

  Contexts& contexts_;
  unsigned flags_;
  std::mutex mutex_;
  std::vector<Pool> pools_{static_cast<std::size_t>(Contexts::most_gpus)};
};

}  // namespace peerlane::memory

#pragma once
/// Our device code, embedded as a fatbin and loaded through the driver's table. On a simulated machine the same names
/// are C++ functions with the same arguments.

#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "memory/contexts.hpp"
#include "peerlane/region.hpp"

namespace peerlane::kernels {

/// The fatbin; empty in a build without CUDA (then `available` is a refusal that says so).
std::span<const unsigned char> image();

class Kernels {
 public:
  explicit Kernels(std::shared_ptr<memory::Contexts> contexts) : contexts_(std::move(contexts)) {}
  ~Kernels();

  /// Can this GPU run them? If not, why: built without CUDA, or no code for this GPU.
  Result<void> available(int gpu);

  /// peerlane_digest(const void* bytes, u64 count, u64 offset, u64* sum): adds to *sum (memory of that GPU or pinned
  /// host memory) the piece's sum of base/digest.hpp. Ordered on `stream`, whose context is current.
  Result<void> digest(int gpu, const Region& piece, Bytes offset, cu::DevicePtr sum, cu::Stream stream);

  /// peerlane_fill(void* bytes, u64 count, u64 offset, u64 seed): the pattern of base/digest.hpp.
  Result<void> fill(int gpu, const Region& piece, Bytes offset, std::uint64_t seed, cu::Stream stream);

 private:
  struct Loaded {
    cu::Module module = nullptr;
    cu::Function digest = nullptr;
    cu::Function fill = nullptr;
  };
  Result<Loaded*> loaded(int gpu);
  std::shared_ptr<memory::Contexts> contexts_;
  std::mutex mutex_;
  std::map<int, Loaded> modules_;
};

}  // namespace peerlane::kernels

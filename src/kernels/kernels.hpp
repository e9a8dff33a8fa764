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
  /// `code` is another image than the embedded one, for tests.
  explicit Kernels(std::shared_ptr<memory::Contexts> contexts, std::span<const unsigned char> code = image())
      : contexts_(std::move(contexts)), image_(code) {}
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Can this GPU run them? If not, why: built without CUDA, or no code for this GPU.
  Result<void> available(int gpu);

  /// peerlane_digest(const void* bytes, u64 count, u64 offset, u64* sum): adds to *sum (memory of that GPU)
  /// the piece's sum of base/digest.hpp. Ordered on `stream`, whose context is current.
  Result<void> digest(int gpu, const Region& piece, Bytes offset, cu::DevicePtr sum, cu::Stream stream);

  /// peerlane_fill(void* bytes, u64 count, u64 offset, u64 seed): the pattern of base/digest.hpp.
  Result<void> fill(int gpu, const Region& piece, Bytes offset, std::uint64_t seed, cu::Stream stream);

 private:
  struct Loaded {
    cu::Module module = nullptr;
    cu::Function digest = nullptr;
    cu::Function fill = nullptr;
    unsigned most_blocks = 1;
  };
  Result<Loaded*> loaded(int gpu);
  Result<Loaded> load(int gpu) const;
  Result<void> find_functions(int gpu, Loaded& loaded) const;
  Result<void> launch(int gpu, cu::Function function, unsigned blocks, cu::Stream stream, void** parameters) const;

  std::shared_ptr<memory::Contexts> contexts_;
  std::span<const unsigned char> image_;
  std::mutex mutex_;
  std::map<int, Loaded> modules_;
};

}  // namespace peerlane::kernels

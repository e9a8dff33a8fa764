#include "kernels/kernels.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace peerlane::kernels {
namespace {

using vendor::check;
using vendor::ContextScope;

constexpr unsigned block_threads = 256;
constexpr Bytes bytes_per_thread = 64;        // four 16-byte loads in flight hide most of the latency
constexpr unsigned blocks_per_processor = 8;  // enough threads for every multiprocessor since sm_75

unsigned blocks_for(Bytes bytes, unsigned most) {
  const Bytes wanted = (bytes + block_threads * bytes_per_thread - 1) / (block_threads * bytes_per_thread);
  return static_cast<unsigned>(std::clamp<Bytes>(wanted, 1, most));
}

Result<void> check_offset(const Region& piece, Bytes offset) {
  if (offset % 8 == 0) return {};
  return fail(ErrorKind::invalid_argument,
              "a piece that begins at byte " + std::to_string(offset) + " was given, expected a multiple of 8",
              to_string(piece.place));
}

/// A fatbin without code for this GPU is no fault of the driver: the kernels begin with compute capability 7.5.
Error load_error(const vendor::CudaDriver& driver, cu::Status status, int gpu) {
  Error error = driver_error(driver, status, "cuModuleLoadData", to_string(peerlane::gpu(gpu)));
  if (status == cu::Status::no_binary_for_gpu) {
    error.kind = ErrorKind::unavailable;
    error.what = "there are no kernels for this GPU, only for compute capability 7.5 and above: " + error.what;
    error.hint = "the copy engine does the work instead";
  }
  return error;
}

}  // namespace

Kernels::~Kernels() {
  for (const auto& [gpu, loaded] : modules_) {
    if (contexts_->abandoned(gpu)) continue;
    const auto context = contexts_->context(gpu);
    if (!context) continue;
    ContextScope scope(contexts_->driver(), *context);
    if (scope.status() == cu::Status::success) contexts_->driver().cuModuleUnload(loaded.module);
  }
}

Result<void> Kernels::available(int gpu) {
  PEERLANE_TRY(loaded(gpu));
  return {};
}

Result<Kernels::Loaded*> Kernels::loaded(int gpu) {
  std::lock_guard lock(mutex_);
  auto it = modules_.find(gpu);
  if (it == modules_.end()) it = modules_.emplace(gpu, PEERLANE_TRY(load(gpu))).first;
  return &it->second;
}

Result<Kernels::Loaded> Kernels::load(int gpu) const {
  static constexpr unsigned char any_image[1] = {};  // a simulated driver has the functions, whatever it is given
  const vendor::CudaDriver& driver = contexts_->driver();
  const std::string place = to_string(peerlane::gpu(gpu));
  if (image_.empty() && !driver.simulated) {
    return fail(ErrorKind::unavailable, "this build has no kernels: it was made without nvcc", place,
                "build with PEERLANE_CUDA=ON");
  }
  ContextScope scope(driver, PEERLANE_TRY(contexts_->context(gpu)));
  PEERLANE_TRY(check(driver, scope.status(), "cuCtxPushCurrent", place));
  Loaded loaded;
  const cu::Status status = driver.cuModuleLoadData(&loaded.module, image_.empty() ? any_image : image_.data());
  if (status != cu::Status::success) return tl::unexpected(load_error(driver, status, gpu));
  if (auto found = find_functions(gpu, loaded); !found) {
    driver.cuModuleUnload(loaded.module);
    return tl::unexpected(std::move(found).error());
  }
  return loaded;
}

Result<void> Kernels::find_functions(int gpu, Loaded& loaded) const {
  const vendor::CudaDriver& driver = contexts_->driver();
  const std::string place = to_string(peerlane::gpu(gpu));
  PEERLANE_TRY(check(driver, driver.cuModuleGetFunction(&loaded.digest, loaded.module, "peerlane_digest"),
                     "cuModuleGetFunction(peerlane_digest)", place));
  PEERLANE_TRY(check(driver, driver.cuModuleGetFunction(&loaded.fill, loaded.module, "peerlane_fill"),
                     "cuModuleGetFunction(peerlane_fill)", place));
  cu::Device device = 0;
  int processors = 0;
  PEERLANE_TRY(check(driver, driver.cuCtxGetDevice(&device), "cuCtxGetDevice", place));
  PEERLANE_TRY(check(driver, driver.cuDeviceGetAttribute(&processors, cu::attribute_multiprocessor_count, device),
                     "cuDeviceGetAttribute", place));
  loaded.most_blocks = static_cast<unsigned>(std::max(processors, 1)) * blocks_per_processor;
  return {};
}

Result<void> Kernels::digest(int gpu, const Region& piece, Bytes offset, cu::DevicePtr sum, cu::Stream stream) {
  PEERLANE_TRY(check_offset(piece, offset));
  const Loaded* loaded = PEERLANE_TRY(this->loaded(gpu));
  if (piece.bytes == 0) return {};
  cu::DevicePtr bytes = piece.address;
  unsigned long long count = piece.bytes;
  unsigned long long begin = offset;
  void* parameters[] = {&bytes, &count, &begin, &sum};
  return launch(gpu, loaded->digest, blocks_for(count, loaded->most_blocks), stream, parameters);
}

Result<void> Kernels::fill(int gpu, const Region& piece, Bytes offset, std::uint64_t seed, cu::Stream stream) {
  PEERLANE_TRY(check_offset(piece, offset));
  const Loaded* loaded = PEERLANE_TRY(this->loaded(gpu));
  if (piece.bytes == 0) return {};
  cu::DevicePtr bytes = piece.address;
  unsigned long long count = piece.bytes;
  unsigned long long begin = offset;
  unsigned long long pattern = seed;
  void* parameters[] = {&bytes, &count, &begin, &pattern};
  return launch(gpu, loaded->fill, blocks_for(count, loaded->most_blocks), stream, parameters);
}

Result<void> Kernels::launch(int gpu, cu::Function function, unsigned blocks, cu::Stream stream,
                             void** parameters) const {
  const vendor::CudaDriver& driver = contexts_->driver();
  const cu::Status status =
      driver.cuLaunchKernel(function, blocks, 1, 1, block_threads, 1, 1, 0, stream, parameters, nullptr);
  return check(driver, status, "cuLaunchKernel", to_string(peerlane::gpu(gpu)));
}

}  // namespace peerlane::kernels

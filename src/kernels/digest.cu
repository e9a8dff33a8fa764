/// The kernels of base/digest.hpp. Their names and arguments are those that kernels.hpp launches.

#include "kernels/per_thread.hpp"

namespace {

using peerlane::kernels::Word;

constexpr int warp_lanes = 32;

__device__ Word thread_number() {
  return Word{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ Word thread_count() {
  return Word{gridDim.x} * blockDim.x;
}

__device__ Word warp_sum(Word value) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, distance);
  }
  return value;
}

/// The sum of all threads of the block, in thread 0. Blocks are whole warps.
__device__ Word block_sum(Word value) {
  __shared__ Word of_warp[warp_lanes];
  const unsigned lane = threadIdx.x % warp_lanes;
  const unsigned warp = threadIdx.x / warp_lanes;
  value = warp_sum(value);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp != 0) return 0;
  return warp_sum(lane < blockDim.x / warp_lanes ? of_warp[lane] : 0);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    peerlane_digest(const void* bytes, unsigned long long count, unsigned long long offset, unsigned long long* sum) {
  const auto piece = peerlane::kernels::piece_of(bytes, count, offset);
  const Word of_block = block_sum(peerlane::kernels::sum_of_thread(piece, thread_number(), thread_count()));
  // System scope: whoever reads the sum next, a copy engine or the host, sees it. So it ran on H200s.
  if (threadIdx.x == 0) atomicAdd_system(sum, static_cast<unsigned long long>(of_block));
}

extern "C" __global__ void __launch_bounds__(256)
    peerlane_fill(void* bytes, unsigned long long count, unsigned long long offset, unsigned long long seed) {
  const auto piece = peerlane::kernels::piece_of(bytes, count, offset);
  peerlane::kernels::fill_of_thread(bytes, piece, seed, thread_number(), thread_count());
}

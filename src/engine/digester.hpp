#pragma once
/// Digests and patterns of regions wherever they live: on a GPU by our kernel (or through pinned memory where no kernel
/// can run), in host memory and files by the workers.

#include "engine/rooms.hpp"

namespace peerlane::engine {

class Digester {
 public:
  explicit Digester(Rooms& rooms) : rooms_(rooms) {}
  Result<std::uint64_t> digest(const Region& region, TimePoint deadline);
  Result<void> fill(const Region& region, std::uint64_t seed, TimePoint deadline);

 private:
  Result<std::uint64_t> sum_on_gpu(const Region& region, TimePoint deadline);
  Result<void> fill_on_gpu(const Region& region, std::uint64_t seed, TimePoint deadline);
  /// Does `work(slot, offset)` for the pieces of a GPU region, copied through a pinned slot before or after.
  enum class Through { read, write };
  Result<void> through_host(const Region& region, Through way, TimePoint deadline,
                            const std::function<void(const Region& slot, Bytes offset)>& work);
  /// `work(piece, offset)` for all pieces, on the workers; the first error wins.
  Result<void> for_each_piece(const Region& region, WorkKind kind, TimePoint deadline,
                              std::function<Result<void>(const Region& piece, Bytes offset)> work);

  Rooms& rooms_;
};

}  // namespace peerlane::engine

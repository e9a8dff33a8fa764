#pragma once
/// Memory of every place: allocation, the origin of foreign pointers, and what a stuck transfer still holds.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/contexts.hpp"
#include "peerlane/machine.hpp"
#include "peerlane/region.hpp"

namespace peerlane::memory {

/// Regions that transfers still hold. A buffer that overlaps one when it is dropped is handed over and given back only
/// when the last lease on it ends.
class Leases {
 public:
  using Release = void (*)(void* context, const Region& region);
  struct Ticket {
    std::uint64_t id = 0;
  };
  Ticket hold(const Region& region);
  void end(Ticket ticket) noexcept;
  bool holds(const Region& region) const;
  Bytes held() const;
  /// True when the region was taken over: `later` is called once its last lease has ended.
  bool take_over(const Region& region, std::function<void()> later);

 private:
  struct Lease {
    std::uint64_t id;
    Region region;
  };
  struct Orphan {
    Region region;
    std::function<void()> release;
  };
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::vector<Lease> leases_;
  std::vector<Orphan> orphans_;
};

/// Owner of every buffer the session hands out; kept alive by them.
class Memory final : public Buffer::Owner, public std::enable_shared_from_this<Memory> {
 public:
  Memory(std::shared_ptr<Contexts> contexts, const Machine& machine);

  /// gpu:N by cuMemAlloc; host by NUMA-placed pages, touched and registered; mem by plain pages. 0 bytes is legal and
  /// gives an empty region. Errors name the place and what was free.
  Result<Buffer> allocate(Place place, Bytes bytes);
  void release(const Region& region) noexcept override;

  /// The region behind a raw pointer; `invalid_argument` when [pointer, pointer+bytes) leaves its allocation.
  Result<Region> origin(const void* pointer, Bytes bytes);

  Leases& leases() { return leases_; }
  Contexts& contexts() { return *contexts_; }

 private:
  void give_back(const Region& region) noexcept;
  std::shared_ptr<Contexts> contexts_;
  const Machine machine_;
  Leases leases_;
};

enum class AllocationKind { device, pool, vmm, managed, host_pinned, host_registered, pageable };

/// What the driver knows of an address.
struct PointerFacts {
  AllocationKind kind = AllocationKind::pageable;
  int gpu = -1;               ///< owner, -1 for host memory
  std::uint64_t base = 0;     ///< of the allocation; 0 for pageable
  Bytes bytes = 0;
  std::uint64_t buffer_id = 0;  ///< unique per allocation: an address that comes again has another one
  cu::Context context = nullptr;
};
Result<PointerFacts> pointer_facts(const vendor::CudaDriver& driver, const void* pointer);

}  // namespace peerlane::memory

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
  struct Ticket {
    std::uint64_t id = 0;  ///< 0 holds nothing
  };
  Ticket hold(const Region& region);
  /// Ending a ticket again, or one that holds nothing, does nothing.
  void end(Ticket ticket) noexcept;
  bool holds(const Region& region) const;
  /// Bytes under lease; those that several transfers hold count once.
  Bytes held() const;
  /// True when the region was taken over: `later` is called once its last lease has ended.
  bool take_over(const Region& region, std::function<void()> later);
  /// What is leased now will never be given back: an engine that hangs may still touch it.
  void never_give_back() noexcept;

 private:
  struct Slot {
    Region region;
    std::uint32_t generation = 1;
    bool live = false;
  };
  struct Orphan {
    Region region;
    std::function<void()> release;
  };
  bool held_now(const Region& region) const;
  std::function<void()> free_orphan();

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> idle_;  ///< slots without a lease; has room for all of them
  std::vector<Orphan> orphans_;
  bool for_ever_ = false;
};

/// Owner of every buffer the session hands out; kept alive by them.
class Memory final : public Buffer::Owner, public std::enable_shared_from_this<Memory> {
 public:
  Memory(std::shared_ptr<Contexts> contexts, const Machine& machine);

  /// gpu:N by cuMemAlloc; host by NUMA-placed pages, touched and registered; mem by plain pages. 0 bytes is legal and
  /// gives an empty region. Errors name the place and what was free.
  Result<Buffer> allocate(Place place, Bytes bytes);
  void release(const Region& region) noexcept override;

  /// The region behind a raw pointer; `invalid_argument` when [pointer, pointer+bytes) leaves its allocation or is
  /// nobody's memory.
  Result<Region> origin(const void* pointer, Bytes bytes);

  /// Asked for idle memory before an allocation fails for want of it; answers whether it gave any back. One at a time,
  /// empty to withdraw.
  void when_short(std::function<bool()> give_back);

  Leases& leases() { return leases_; }
  Contexts& contexts() { return *contexts_; }

 private:
  Result<void> check_place(Place place) const;
  Result<std::uint64_t> take(Place place, Bytes bytes);
  Result<std::uint64_t> take_from_gpu(int gpu, Bytes bytes);
  Result<std::uint64_t> take_pinned(Place place, Bytes bytes);
  Result<std::uint64_t> take_pages(Bytes bytes);
  Result<void> pin(Place place, void* pages, Bytes bytes);
  Result<void> pin_with(int gpu, Place place, void* pages, Bytes bytes);
  bool unpin(void* pages) noexcept;
  std::vector<int> gpus_near(int node) const;
  void give_back(const Region& region) noexcept;

  std::shared_ptr<Contexts> contexts_;
  const Machine machine_;
  Leases leases_;
  std::mutex short_mutex_;
  std::function<bool()> when_short_;
};

enum class AllocationKind {
  device,       ///< cuMemAlloc
  pool,         ///< a stream-ordered pool
  vmm,          ///< cuMemCreate and cuMemMap
  managed,      ///< cuMemAllocManaged
  host_pinned,  ///< by the driver, or registered: it does not tell the two apart
  pageable,     ///< unknown to the driver
};

/// What the driver knows of an address.
struct PointerFacts {
  AllocationKind kind = AllocationKind::pageable;
  int gpu = -1;            ///< owner, -1 for host memory
  std::uint64_t base = 0;  ///< of the allocation; 0 where the driver does not say, and for pageable
  Bytes bytes = 0;
  std::uint64_t buffer_id = 0;  ///< unique per allocation: an address that comes again has another one
  cu::Context context = nullptr;
};
Result<PointerFacts> pointer_facts(const vendor::CudaDriver& driver, const void* pointer);

}  // namespace peerlane::memory

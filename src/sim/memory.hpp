#pragma once
/// Every address that the simulated driver knows, and some that it has known.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "peerlane/place.hpp"
#include "sim/reservation.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::sim {

struct Context;
struct Pool;

/// What cuMemCreate makes: bytes without an address.
struct Physical {
  int gpu = 0;
  Bytes bytes = 0;
  Reservation pages;
  cu::AllocationHandle handle = 0;
  bool released = false;
  int mappings = 0;
};

enum class MemoryKind { device, pool, vmm, pinned, registered };

/// One allocation, mapping or registration.
struct Memory {
  MemoryKind kind = MemoryKind::device;
  std::uint64_t id = 0;  ///< never used again, unlike the address
  std::uint64_t base = 0;
  Bytes bytes = 0;
  int gpu = -1;   ///< owner of device memory
  int node = -1;  ///< NUMA node of host memory, -1 unknown
  Context* context = nullptr;
  std::byte* real = nullptr;  ///< where the bytes are; device memory is nowhere else to be seen
  bool freeing = false;       ///< cuMemFreeAsync was called
  int users = 0;              ///< operations that will still touch it
  Reservation addresses;
  Reservation pages;
  std::shared_ptr<Pool> pool;
  std::shared_ptr<Physical> physical;
  std::map<int, int> access;  ///< vmm: AccessFlags per GPU

  bool on_gpu() const { return gpu >= 0; }
  Place place() const { return on_gpu() ? peerlane::gpu(gpu) : host(node); }
  bool holds(std::uint64_t address, Bytes count) const {
    return address >= base && address - base <= bytes && count <= bytes - (address - base);
  }
  std::byte* at(std::uint64_t address) const { return real + (address - base); }
  /// Where its bytes come from; null for registered memory, which is the caller's.
  Reservation* backing() {
    if (physical) return &physical->pages;
    if (pages) return &pages;
    return addresses ? &addresses : nullptr;
  }
};

class AddressBook {
 public:
  /// Address space that faults; a freed piece of the same size comes again, as it does on the real driver.
  Reservation take(Bytes bytes);
  /// Freed addresses stay known, so that their use is an error and never a read of somebody else's memory.
  void bury(Reservation addresses);
  bool buried(std::uint64_t address) const;

  void add(std::shared_ptr<Memory> memory);
  void remove(const Memory& memory) { memories_.erase(memory.base); }
  std::shared_ptr<Memory> find(std::uint64_t address) const;
  bool overlaps(std::uint64_t base, Bytes bytes) const;
  const std::map<std::uint64_t, std::shared_ptr<Memory>>& all() const { return memories_; }

  /// cuMemAddressReserve.
  std::map<std::uint64_t, Reservation> reserved;
  bool is_reserved(std::uint64_t address, Bytes bytes) const;

  /// Pageable memory that came from `host_pages`.
  struct Pages {
    Reservation addresses;
    Bytes bytes = 0;
    int node = -1;
  };
  std::map<std::uint64_t, Pages> pages;
  int node_of(std::uint64_t address) const;

  std::uint64_t next_id = 1;

 private:
  static constexpr std::size_t most_graves = 4096;
  std::map<std::uint64_t, std::shared_ptr<Memory>> memories_;
  std::map<std::uint64_t, Reservation> graves_;
  std::deque<std::uint64_t> burials_;  // oldest first
};

}  // namespace peerlane::sim

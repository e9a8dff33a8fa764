/// Device memory, pinned and pageable host memory, and what a pointer tells.

#include <algorithm>
#include <cstring>

#include "sim/world.hpp"

namespace peerlane::sim {

using cu::Status;

/// Null when the GPU, or this machine, has no more.
std::shared_ptr<Memory> World::make_device_memory(Bytes bytes, int gpu, MemoryKind kind) {
  Gpu& owner = *gpus_[gpu];
  if (bytes > owner.memory - owner.used) return nullptr;
  auto memory = std::make_shared<Memory>();
  memory->addresses = book_.take(bytes);
  memory->pages = Reservation::of(bytes);
  if (!memory->addresses || !memory->pages || !memory->pages.furnish()) return nullptr;
  memory->kind = kind;
  memory->base = memory->addresses.address();
  memory->bytes = bytes;
  memory->gpu = gpu;
  memory->real = memory->pages.data();
  owner.used += bytes;
  book_.add(memory);
  return memory;
}

void World::remove(const std::shared_ptr<Memory>& memory) {
  book_.remove(*memory);
  mover_.forget(*memory);
  if (memory->kind == MemoryKind::device || memory->kind == MemoryKind::pool) gpus_[memory->gpu]->used -= memory->bytes;
  if (memory->kind == MemoryKind::pinned) pinned_ -= memory->bytes;
  if (memory->pool) --memory->pool->allocations;
  if (memory->addresses) book_.bury(std::move(memory->addresses));
}

/// As the real one does in effect: memory is given back when nothing touches it any more.
Status World::free_when_quiet(Context& context, std::shared_ptr<Memory> memory) {
  PEERLANE_STATUS(wait(context, [&] { return memory->users == 0; }));
  if (book_.find(memory->base) != memory) return Status::invalid_value;  // somebody freed it meanwhile
  remove(memory);
  return Status::success;
}

Status World::cuMemGetInfo(std::size_t* free, std::size_t* total) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (free == nullptr || total == nullptr) return Status::invalid_value;
  const Gpu& owner = *gpus_[context->gpu];
  *free = owner.memory - owner.used;
  *total = owner.memory;
  return Status::success;
}

Status World::cuMemAlloc(cu::DevicePtr* pointer, std::size_t bytes) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (pointer == nullptr || bytes == 0) return Status::invalid_value;
  const auto has_access = [&](const auto& gpu) { return gpu->context.peers.contains(context->gpu); };
  spend(static_cast<double>(std::ranges::count_if(gpus_, has_access)) * allocation_per_peer_s);
  const auto memory = make_device_memory(bytes, context->gpu, MemoryKind::device);
  if (!memory) return Status::out_of_memory;
  memory->context = context;
  *pointer = memory->base;
  return Status::success;
}

Status World::cuMemFree(cu::DevicePtr pointer) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (pointer == 0) return Status::success;
  const auto memory = book_.find(pointer);
  if (!memory || memory->base != pointer) return Status::invalid_value;
  if (memory->kind != MemoryKind::device && memory->kind != MemoryKind::pool) return Status::invalid_value;
  PEERLANE_STATUS(gpus_[memory->gpu]->context.error);
  return free_when_quiet(*context, memory);
}

Status World::cuMemGetAddressRange(cu::DevicePtr* base, std::size_t* bytes, cu::DevicePtr pointer) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  const auto memory = book_.find(pointer);
  if (!memory || memory->kind == MemoryKind::registered) return Status::invalid_value;
  if (base != nullptr) *base = memory->base;
  if (bytes != nullptr) *bytes = memory->bytes;
  return Status::success;
}

Status World::cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  constexpr unsigned known_flags = 7;  // portable, mapped, write-combined
  if (pointer == nullptr || bytes == 0 || (flags & ~known_flags) != 0) return Status::invalid_value;
  if (most_pinned_ > 0 && bytes > most_pinned_ - std::min(pinned_, most_pinned_)) return Status::out_of_memory;
  spend(static_cast<double>(bytes) / registered_bytes_per_s);
  auto memory = std::make_shared<Memory>();
  memory->addresses = book_.take(bytes);
  if (!memory->addresses || !memory->addresses.furnish()) return Status::out_of_memory;
  memory->kind = MemoryKind::pinned;
  memory->base = memory->addresses.address();
  memory->bytes = bytes;
  memory->node = machine::nearest_numa(machine_, context->gpu);
  memory->context = context;
  memory->real = memory->addresses.data();
  pinned_ += bytes;
  *pointer = memory->real;
  book_.add(std::move(memory));
  return Status::success;
}

Status World::cuMemFreeHost(void* pointer) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto memory = book_.find(address);
  if (!memory || memory->base != address || memory->kind != MemoryKind::pinned) return Status::invalid_value;
  return free_when_quiet(*context, memory);
}

Status World::cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  constexpr unsigned known_flags = 15;  // portable, device-mapped, I/O memory, read-only
  const auto base = reinterpret_cast<std::uint64_t>(pointer);
  if (pointer == nullptr || bytes == 0 || base + bytes < base || (flags & ~known_flags) != 0)
    return Status::invalid_value;
  if (const auto known = book_.find(base); known && known->on_gpu()) return Status::invalid_value;
  if (book_.buried(base) || book_.is_reserved(base, 1)) return Status::invalid_value;
  if (book_.overlaps(base, bytes)) return Status::host_memory_already_registered;
  spend(static_cast<double>(bytes) / registered_bytes_per_s);
  auto memory = std::make_shared<Memory>();
  memory->kind = MemoryKind::registered;
  memory->base = base;
  memory->bytes = bytes;
  memory->node = book_.node_of(base);
  memory->context = context;
  memory->real = static_cast<std::byte*>(pointer);
  book_.add(std::move(memory));
  return Status::success;
}

Status World::cuMemHostUnregister(void* pointer) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto memory = book_.find(address);
  if (!memory || memory->kind != MemoryKind::registered) return Status::host_memory_not_registered;
  if (memory->base != address) return Status::invalid_value;
  return free_when_quiet(*context, memory);
}

void* World::host_pages(Bytes bytes, int node) {
  if (faults_.fails(host_pages_call)) return nullptr;
  Reservation addresses = Reservation::of(bytes);
  if (!addresses || !addresses.furnish()) return nullptr;
  void* pages = addresses.data();
  const std::uint64_t base = addresses.address();
  book_.pages.emplace(base, AddressBook::Pages{std::move(addresses), bytes, node});
  return pages;
}

void World::free_host_pages(void* pages, Bytes bytes) {
  if (pages == nullptr) return;
  const auto known = book_.pages.find(reinterpret_cast<std::uint64_t>(pages));
  if (known == book_.pages.end() || known->second.bytes != bytes) {
    misdeeds_.emplace_back("host: pages were freed that are not held, or with another size");
    return;
  }
  if (book_.overlaps(known->first, bytes)) {
    misdeeds_.emplace_back("host: pages were freed while they were registered");
    book_.bury(std::move(known->second.addresses));
  }
  book_.pages.erase(known);
}

Status World::cuPointerGetAttribute(void* value, cu::PointerAttribute attribute, cu::DevicePtr pointer) {
  if (value == nullptr) return Status::invalid_value;
  const auto memory = book_.find(pointer);
  if (!memory) return Status::invalid_value;
  const auto answer = [value](auto what) {
    std::memcpy(value, &what, sizeof what);
    return Status::success;
  };
  const bool on_gpu = memory->on_gpu();
  switch (attribute) {
    case cu::pointer_context: {
      const bool has_context = memory->kind != MemoryKind::pool && memory->kind != MemoryKind::vmm;
      return answer(has_context ? memory->context->handle : cu::Context{nullptr});
    }
    case cu::pointer_memory_type:
      return answer(static_cast<unsigned>(on_gpu ? cu::memory_device : cu::memory_host));
    case cu::pointer_device_pointer:
      return answer(pointer);
    case cu::pointer_host_pointer:
      return on_gpu ? Status::invalid_value : answer(pointer);
    case cu::pointer_buffer_id:
      return answer(static_cast<unsigned long long>(memory->id));
    case cu::pointer_is_managed:
      return answer(0);
    case cu::pointer_device_ordinal:
      return answer(on_gpu ? memory->gpu : memory->context->gpu);
    case cu::pointer_range_start:
      return answer(static_cast<cu::DevicePtr>(memory->base));
    case cu::pointer_range_size:
      return answer(static_cast<std::size_t>(memory->bytes));
    case cu::pointer_mapped:
      return answer(1);
    case cu::pointer_access_flags: {
      Context* context = nullptr;
      PEERLANE_STATUS(current(context));
      // Wrong for pools, as the real driver is (seen on two H200): it says 3 where a kernel faults.
      if (memory->kind == MemoryKind::pool) return answer(static_cast<int>(cu::access_read_write));
      if (memory->kind == MemoryKind::vmm) {
        const auto access = memory->access.find(context->gpu);
        return answer(access == memory->access.end() ? 0 : access->second);
      }
      return answer(may_touch(context->gpu, *memory, true) ? static_cast<int>(cu::access_read_write) : 0);
    }
    case cu::pointer_pool:
      return answer(memory->pool ? memory->pool->handle : cu::Pool{nullptr});
  }
  return Status::invalid_value;
}

}  // namespace peerlane::sim

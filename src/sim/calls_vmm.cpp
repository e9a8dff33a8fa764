/// Virtual memory management: physical bytes, address ranges, mappings, and access per mapping and GPU.
/// The order of undoing is unmap, release, free the addresses.

#include <algorithm>

#include "sim/world.hpp"

namespace peerlane::sim {
namespace {

using cu::Status;
constexpr Bytes granularity = 2_MiB;

bool is_granular(Bytes bytes) {
  return bytes > 0 && bytes % granularity == 0;
}

}  // namespace

Status World::cuMemGetAllocationGranularity(std::size_t* bytes, const cu::AllocationProperties* properties,
                                            int option) {
  if (bytes == nullptr || properties == nullptr || option < 0 || option > 1) return Status::invalid_value;
  if (properties->location.type != cu::location_device) return Status::not_supported;
  if (gpu(properties->location.id) == nullptr) return Status::invalid_device;
  *bytes = granularity;
  return Status::success;
}

Status World::cuMemAddressReserve(cu::DevicePtr* pointer, std::size_t bytes, std::size_t alignment, cu::DevicePtr,
                                  unsigned long long flags) {
  if (pointer == nullptr || flags != 0 || !is_granular(bytes)) return Status::invalid_value;
  if ((alignment & (alignment - 1)) != 0) return Status::invalid_value;
  Reservation addresses = Reservation::of(bytes, std::max<Bytes>(alignment, granularity));
  if (!addresses) return Status::out_of_memory;
  *pointer = addresses.address();
  book_.reserved.emplace(addresses.address(), std::move(addresses));
  return Status::success;
}

Status World::cuMemAddressFree(cu::DevicePtr pointer, std::size_t bytes) {
  const auto reserved = book_.reserved.find(pointer);
  if (reserved == book_.reserved.end() || reserved->second.bytes() != bytes) return Status::invalid_value;
  if (book_.overlaps(pointer, bytes)) return Status::invalid_value;  // something is still mapped there
  book_.bury(std::move(reserved->second));
  book_.reserved.erase(reserved);
  return Status::success;
}

Status World::cuMemCreate(cu::AllocationHandle* handle, std::size_t bytes, const cu::AllocationProperties* properties,
                          unsigned long long flags) {
  constexpr int pinned = 1;
  if (handle == nullptr || properties == nullptr || flags != 0 || properties->type != pinned)
    return Status::invalid_value;
  if (properties->location.type != cu::location_device) return Status::not_supported;
  Gpu* owner = gpu(properties->location.id);
  if (owner == nullptr) return Status::invalid_device;
  PEERLANE_STATUS(owner->context.error);
  if (!is_granular(bytes)) return Status::invalid_value;
  if (bytes > owner->memory - owner->used) return Status::out_of_memory;
  auto physical = std::make_shared<Physical>();
  physical->gpu = properties->location.id;
  physical->bytes = bytes;
  physical->pages = Reservation::of(bytes);
  if (!physical->pages || !physical->pages.furnish()) return Status::out_of_memory;
  owner->used += bytes;
  physical->handle = ++next_handle_;
  *handle = physical->handle;
  physicals_.emplace(*handle, std::move(physical));
  return Status::success;
}

/// The bytes live on while they are mapped.
Status World::cuMemRelease(cu::AllocationHandle handle) {
  const auto known = physicals_.find(handle);
  if (known == physicals_.end() || known->second->released) return Status::invalid_value;
  known->second->released = true;
  drop_unused(known->second);
  return Status::success;
}

void World::drop_unused(const std::shared_ptr<Physical>& physical) {
  if (!physical->released || physical->mappings > 0) return;
  gpus_[physical->gpu]->used -= physical->bytes;
  physicals_.erase(physical->handle);
}

Status World::cuMemMap(cu::DevicePtr pointer, std::size_t bytes, std::size_t offset, cu::AllocationHandle handle,
                       unsigned long long flags) {
  const auto known = physicals_.find(handle);
  if (known == physicals_.end() || known->second->released || flags != 0) return Status::invalid_value;
  const auto& physical = known->second;
  if (!is_granular(bytes) || pointer % granularity != 0 || offset % granularity != 0) return Status::invalid_value;
  if (offset > physical->bytes || bytes > physical->bytes - offset) return Status::invalid_value;
  if (!book_.is_reserved(pointer, bytes) || book_.overlaps(pointer, bytes)) return Status::invalid_value;
  auto memory = std::make_shared<Memory>();
  memory->kind = MemoryKind::vmm;
  memory->base = pointer;
  memory->bytes = bytes;
  memory->gpu = physical->gpu;
  memory->context = &gpus_[physical->gpu]->context;
  memory->real = physical->pages.data() + offset;
  memory->physical = physical;
  ++physical->mappings;
  book_.add(std::move(memory));
  return Status::success;
}

/// The mappings that fill exactly this range; none when it cuts one or leaves a hole.
std::vector<std::shared_ptr<Memory>> World::mappings_in(cu::DevicePtr pointer, Bytes bytes) const {
  std::vector<std::shared_ptr<Memory>> found;
  if (!book_.is_reserved(pointer, bytes)) return found;
  for (Bytes done = 0; done < bytes;) {
    const auto memory = book_.find(pointer + done);
    if (!memory || memory->kind != MemoryKind::vmm || memory->base != pointer + done) return {};
    if (memory->bytes > bytes - done) return {};
    done += memory->bytes;
    found.push_back(memory);
  }
  return found;
}

Status World::cuMemUnmap(cu::DevicePtr pointer, std::size_t bytes) {
  const auto mappings = mappings_in(pointer, bytes);
  if (mappings.empty()) return Status::invalid_value;
  for (const auto& memory : mappings) {
    PEERLANE_STATUS(wait(*memory->context, [&] { return memory->users == 0; }));
  }
  for (const auto& memory : mappings) {
    remove(memory);
    --memory->physical->mappings;
    drop_unused(memory->physical);
  }
  return Status::success;
}

Status World::cuMemSetAccess(cu::DevicePtr pointer, std::size_t bytes, const cu::AccessDescription* access,
                             std::size_t count) {
  const auto mappings = mappings_in(pointer, bytes);
  if (mappings.empty() || access == nullptr || count == 0) return Status::invalid_value;
  const std::span<const cu::AccessDescription> wishes(access, count);
  for (const auto& wish : wishes) {
    if (wish.location.type != cu::location_device || gpu(wish.location.id) == nullptr) return Status::invalid_value;
    if (wish.flags != cu::access_none && wish.flags != cu::access_read && wish.flags != cu::access_read_write) {
      return Status::invalid_value;
    }
    for (const auto& memory : mappings) {
      const bool capable = wish.location.id == memory->gpu || can_access(wish.location.id, memory->gpu);
      if (wish.flags != cu::access_none && !capable) return Status::peer_access_unsupported;
    }
  }
  for (const auto& memory : mappings) {
    for (const auto& wish : wishes) memory->access[wish.location.id] = wish.flags;
  }
  return Status::success;
}

Status World::cuMemGetAccess(unsigned long long* flags, const cu::Location* location, cu::DevicePtr pointer) {
  if (flags == nullptr || location == nullptr || location->type != cu::location_device) return Status::invalid_value;
  const auto memory = book_.find(pointer);
  if (!memory || memory->kind != MemoryKind::vmm || gpu(location->id) == nullptr) return Status::invalid_value;
  const auto access = memory->access.find(location->id);
  *flags = access == memory->access.end() ? 0 : static_cast<unsigned long long>(access->second);
  return Status::success;
}

}  // namespace peerlane::sim

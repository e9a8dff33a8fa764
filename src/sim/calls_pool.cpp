/// Memory pools: stream-ordered allocation, and access that is the pool's own.

#include <algorithm>

#include "sim/world.hpp"

namespace peerlane::sim {

using cu::Status;

Status World::pool_of(cu::Pool handle, std::shared_ptr<Pool>& pool) {
  pool = pools_.share(handle);
  if (!pool) return Status::invalid_value;
  return gpus_[pool->gpu]->context.error;
}

Status World::cuDeviceGetDefaultMemPool(cu::Pool* pool, cu::Device device) {
  if (pool == nullptr) return Status::invalid_value;
  Gpu* owner = gpu(device);
  if (owner == nullptr) return Status::invalid_device;
  if (!owner->default_pool) {
    owner->default_pool = std::make_shared<Pool>();
    owner->default_pool->gpu = device;
    owner->default_pool->handle = new_handle<cu::Pool>();
    owner->default_pool->is_default = true;
    pools_.add(owner->default_pool->handle, owner->default_pool);
  }
  *pool = owner->default_pool->handle;
  return Status::success;
}

Status World::cuMemPoolCreate(cu::Pool* pool, const cu::PoolProperties* properties) {
  constexpr int pinned = 1;
  if (pool == nullptr || properties == nullptr || properties->alloc_type != pinned) return Status::invalid_value;
  if (properties->location.type != cu::location_device) return Status::not_supported;
  if (gpu(properties->location.id) == nullptr) return Status::invalid_value;
  PEERLANE_STATUS(gpu(properties->location.id)->context.error);
  auto made = std::make_shared<Pool>();
  made->gpu = properties->location.id;
  made->handle = new_handle<cu::Pool>();
  *pool = made->handle;
  pools_.add(made->handle, made);
  return Status::success;
}

/// Its allocations keep it until they are freed.
Status World::cuMemPoolDestroy(cu::Pool handle) {
  std::shared_ptr<Pool> pool;
  PEERLANE_STATUS(pool_of(handle, pool));
  if (pool->is_default) return Status::invalid_value;
  pools_.remove(handle);
  return Status::success;
}

Status World::cuMemPoolSetAccess(cu::Pool handle, const cu::AccessDescription* access, std::size_t count) {
  std::shared_ptr<Pool> pool;
  PEERLANE_STATUS(pool_of(handle, pool));
  if (access == nullptr && count > 0) return Status::invalid_value;
  const std::span<const cu::AccessDescription> wishes(access, count);
  for (const auto& wish : wishes) {
    if (wish.location.type != cu::location_device || gpu(wish.location.id) == nullptr) return Status::invalid_value;
    if (wish.flags != cu::access_none && wish.flags != cu::access_read_write) return Status::invalid_value;
    if (wish.location.id == pool->gpu && wish.flags != cu::access_read_write) return Status::invalid_value;
    // On an empty pool the driver believes it, and the next allocation fails.
    const bool capable = wish.location.id == pool->gpu || can_access(wish.location.id, pool->gpu);
    if (pool->allocations > 0 && wish.flags != cu::access_none && !capable) return Status::peer_access_unsupported;
  }
  for (const auto& wish : wishes) {
    if (wish.location.id != pool->gpu) pool->access[wish.location.id] = wish.flags;
  }
  return Status::success;
}

Status World::cuMemPoolGetAccess(int* flags, cu::Pool handle, cu::Location* location) {
  std::shared_ptr<Pool> pool;
  PEERLANE_STATUS(pool_of(handle, pool));
  if (flags == nullptr || location == nullptr || location->type != cu::location_device) return Status::invalid_value;
  if (gpu(location->id) == nullptr) return Status::invalid_value;
  const auto access = pool->access.find(location->id);
  *flags = location->id == pool->gpu ? cu::access_read_write : access == pool->access.end() ? 0 : access->second;
  return Status::success;
}

Status World::cuMemAllocFromPoolAsync(cu::DevicePtr* pointer, std::size_t bytes, cu::Pool handle,
                                      cu::Stream stream_handle) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(stream_handle, stream));
  std::shared_ptr<Pool> pool;
  PEERLANE_STATUS(pool_of(handle, pool));
  if (pointer == nullptr || bytes == 0) return Status::invalid_value;
  const bool believed_too_much = std::ranges::any_of(pool->access, [&](const auto& entry) {
    return entry.second != cu::access_none && !can_access(entry.first, pool->gpu);
  });
  if (believed_too_much) return Status::peer_access_unsupported;
  const auto memory = make_device_memory(bytes, pool->gpu, MemoryKind::pool);
  if (!memory) return Status::out_of_memory;
  memory->context = &gpus_[pool->gpu]->context;
  memory->pool = pool;
  ++pool->allocations;
  *pointer = memory->base;
  return Status::success;
}

Status World::cuMemFreeAsync(cu::DevicePtr pointer, cu::Stream stream_handle) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(stream_handle, stream));
  if (pointer == 0) return Status::success;
  const auto memory = book_.find(pointer);
  if (!memory || memory->base != pointer || memory->kind != MemoryKind::pool || memory->freeing)
    return Status::invalid_value;
  memory->freeing = true;
  submit(stream, FreeWork{memory}, {});
  return Status::success;
}

}  // namespace peerlane::sim

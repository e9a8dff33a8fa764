/// Copies: whose memory it is, who may touch it, and which road that leaves.

#include <algorithm>

#include "sim/world.hpp"

namespace peerlane::sim {

namespace {
constexpr Bytes pageable_chunk = 64_KiB;
}

using cu::Status;

bool World::may_touch(int gpu, const Memory& memory, bool writes) const {
  switch (memory.kind) {
    case MemoryKind::device:
      return memory.gpu == gpu || gpus_[gpu]->context.peers.contains(memory.gpu);
    case MemoryKind::pool: {
      if (memory.gpu == gpu) return true;
      const auto access = memory.pool->access.find(gpu);
      return access != memory.pool->access.end() && access->second == cu::access_read_write;
    }
    case MemoryKind::vmm: {
      const auto access = memory.access.find(gpu);
      if (access == memory.access.end()) return false;
      return access->second == cu::access_read_write || (!writes && access->second == cu::access_read);
    }
    case MemoryKind::pinned:
    case MemoryKind::registered:
      return true;
  }
  return false;
}

/// For a copy engine. Peer access opens no pool, but it makes copies from and to one half as good as direct.
World::Openness World::openness(int gpu, const Memory& memory) const {
  if (may_touch(gpu, memory, false)) return Openness::open;
  const bool enabled = gpus_[gpu]->context.peers.contains(memory.gpu);
  return memory.kind == MemoryKind::pool && enabled ? Openness::half : Openness::closed;
}

Road World::road_between(const End& from, const End& to, int issuer) {
  const bool from_gpu = from.place.kind == PlaceKind::gpu;
  const bool to_gpu = to.place.kind == PlaceKind::gpu;
  if (from_gpu && to_gpu) {
    const int a = from.place.index;
    const int b = to.place.index;
    if (a == b) return roads_.within(a);
    const Openness way = std::max(openness(a, *to.memory), openness(b, *from.memory));
    if (way == Openness::closed) return roads_.staged(a, b);
    Road road = roads_.direct(a, b);
    if (issuer != a) road.fixed_s += measured::pull_extra_s;
    return way == Openness::open ? road : std::move(road).slowed(measured::unset_pool_share);
  }
  if (from_gpu) {
    Road road = roads_.host(from.place.index, to.place, true);
    if (!to.memory) road.ceiling = std::min(road.ceiling, measured::pageable_out_bytes_per_s);
    return road;
  }
  if (to_gpu) return roads_.host(to.place.index, from.place, false);
  return roads_.within_host(from.place, to.place);
}

/// Finds the memory behind an address. What nobody allocated is pageable; what was freed is an error.
Status World::find_end(std::uint64_t address, Bytes bytes, Side side, End& end) {
  end = {};
  end.address = address;
  end.memory = book_.find(address);
  if (end.memory) {
    if (!end.memory->holds(address, bytes)) return Status::invalid_value;
    if (end.memory->on_gpu() && gpus_[end.memory->gpu]->lost) return Status::device_unavailable;
    if (side == Side::host && end.memory->on_gpu()) return Status::invalid_value;
    end.place = end.memory->place();
    return Status::success;
  }
  if (side == Side::device || address == 0) return Status::invalid_value;
  if (book_.buried(address) || book_.is_reserved(address, 1)) return Status::invalid_value;
  end.place = mem();
  return Status::success;
}

/// `by_names`: both contexts were named, so that the current one needs no access of its own.
Status World::copy(const End& from, const End& to, Bytes bytes, cu::Stream handle, bool by_names) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  const auto closed_vmm = [&](const End& end, bool writes) {
    return end.memory && end.memory->kind == MemoryKind::vmm && !may_touch(context->gpu, *end.memory, writes);
  };
  if (!by_names && (closed_vmm(from, false) || closed_vmm(to, true))) return Status::invalid_value;

  CopyWork work{from, to, bytes};
  Bytes flowing = bytes;
  if (!from.memory) {
    // The host reads it all before the call returns, chunk by chunk; only the last chunk is still on its way then.
    const auto* source = reinterpret_cast<const std::byte*>(from.address);
    work.from.snapshot = std::make_shared<std::vector<std::byte>>(source, source + bytes);
    spend(static_cast<double>(bytes) / measured::pageable_in_bytes_per_s);
    PEERLANE_STATUS(stream->context->error);
    flowing = std::min<Bytes>(bytes, pageable_chunk);
  }
  Road road = road_between(from, to, stream->context->gpu);
  const auto operation = submit(stream, std::move(work), {from.memory, to.memory}, std::move(road), bytes, flowing);
  if (to.memory) return Status::success;
  // The host writes pageable memory itself, so the call stays until that is done.
  return wait(*stream->context, [&] { return operation->over; });
}

Status World::cuMemcpyAsync(cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (bytes == 0) return Status::success;
  End source, destination;
  PEERLANE_STATUS(find_end(from, bytes, Side::any, source));
  PEERLANE_STATUS(find_end(to, bytes, Side::any, destination));
  return copy(source, destination, bytes, stream, false);
}

Status World::cuMemcpyHtoDAsync(cu::DevicePtr to, const void* from, std::size_t bytes, cu::Stream stream) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (bytes == 0) return Status::success;
  End source, destination;
  PEERLANE_STATUS(find_end(reinterpret_cast<std::uint64_t>(from), bytes, Side::host, source));
  PEERLANE_STATUS(find_end(to, bytes, Side::device, destination));
  return copy(source, destination, bytes, stream, false);
}

Status World::cuMemcpyDtoHAsync(void* to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (bytes == 0) return Status::success;
  End source, destination;
  PEERLANE_STATUS(find_end(from, bytes, Side::device, source));
  PEERLANE_STATUS(find_end(reinterpret_cast<std::uint64_t>(to), bytes, Side::host, destination));
  return copy(source, destination, bytes, stream, false);
}

Status World::cuMemcpyDtoDAsync(cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes, cu::Stream stream) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (bytes == 0) return Status::success;
  End source, destination;
  PEERLANE_STATUS(find_end(from, bytes, Side::device, source));
  PEERLANE_STATUS(find_end(to, bytes, Side::device, destination));
  return copy(source, destination, bytes, stream, false);
}

Status World::cuMemcpyPeerAsync(cu::DevicePtr to, cu::Context to_context, cu::DevicePtr from, cu::Context from_context,
                                std::size_t bytes, cu::Stream stream) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  const Context* source_context = contexts_.find(from_context);
  const Context* destination_context = contexts_.find(to_context);
  if (source_context == nullptr || destination_context == nullptr) return Status::invalid_context;
  PEERLANE_STATUS(source_context->error);
  PEERLANE_STATUS(destination_context->error);
  if (bytes == 0) return Status::success;
  End source, destination;
  PEERLANE_STATUS(find_end(from, bytes, Side::device, source));
  PEERLANE_STATUS(find_end(to, bytes, Side::device, destination));
  if (source.place != peerlane::gpu(source_context->gpu)) return Status::invalid_value;
  if (destination.place != peerlane::gpu(destination_context->gpu)) return Status::invalid_value;
  return copy(source, destination, bytes, stream, true);
}

Status World::cuMemsetD8Async(cu::DevicePtr to, unsigned char value, std::size_t count, cu::Stream handle) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (count == 0) return Status::success;
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  End end;
  PEERLANE_STATUS(find_end(to, count, Side::device, end));
  if (!may_touch(stream->context->gpu, *end.memory, true)) return Status::invalid_value;
  Road road = roads_.kernel(stream->context->gpu, end.place, true);
  road.fixed_s = machine::copy_engine_overhead_s;
  submit(stream, MemsetWork{end, std::byte{value}, count}, {end.memory}, std::move(road), count, count);
  return Status::success;
}

}  // namespace peerlane::sim

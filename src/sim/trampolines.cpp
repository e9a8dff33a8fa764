/// The table holds plain functions, so every slot has its own set of them, and each knows which world answers.

#include <atomic>

#include "sim/world.hpp"

namespace peerlane::sim {
namespace {

using cu::Status;

std::atomic<World*> worlds[most_simulations];
std::atomic<bool> claimed[most_simulations];

template <int slot, Call call, auto method, class Signature>
struct Trampoline;

template <int slot, Call call, auto method, class... Arguments>
struct Trampoline<slot, call, method, Status (*)(Arguments...)> {
  static Status enter(Arguments... arguments) {
    if (World::inside_host_function()) return Status::not_permitted;
    World* world = worlds[slot].load(std::memory_order_acquire);
    if (world == nullptr) return Status::deinitialized;
    const std::lock_guard lock(world->mutex());
    PEERLANE_STATUS(world->enter(call));
    return world->leave(call, (world->*method)(arguments...));
  }
};

template <int slot>
void* host_pages(Bytes bytes, int node) {
  World* world = worlds[slot].load(std::memory_order_acquire);
  if (world == nullptr) return nullptr;
  const std::lock_guard lock(world->mutex());
  return world->host_pages(bytes, node);
}

template <int slot>
void free_host_pages(void* pages, Bytes bytes) {
  World* world = worlds[slot].load(std::memory_order_acquire);
  if (world == nullptr) return;
  const std::lock_guard lock(world->mutex());
  world->free_host_pages(pages, bytes);
}

template <int slot>
void fill(vendor::CudaDriver& table) {
#define PEERLANE_ENTRY(name, version, parameters) \
  table.name = Trampoline<slot, Call::name, &World::name, decltype(table.name)>::enter;
  PEERLANE_CUDA_CALLS(PEERLANE_ENTRY)
#undef PEERLANE_ENTRY
  table.host_pages = host_pages<slot>;
  table.free_host_pages = free_host_pages<slot>;
}

template <int... slots>
void fill_slot(int slot, vendor::CudaDriver& table, std::integer_sequence<int, slots...>) {
  ((slot == slots ? fill<slots>(table) : void()), ...);
}

/// They do their work even when a fault makes them complain, as the driver's do: it reports earlier errors so.
constexpr bool releases(Call call) {
  switch (call) {
    case Call::cuMemFree:
    case Call::cuMemFreeAsync:
    case Call::cuMemFreeHost:
    case Call::cuMemHostUnregister:
    case Call::cuStreamDestroy:
    case Call::cuEventDestroy:
    case Call::cuModuleUnload:
    case Call::cuCtxPopCurrent:
    case Call::cuDevicePrimaryCtxRelease:
    case Call::cuCtxDisablePeerAccess:
    case Call::cuMemPoolDestroy:
    case Call::cuMemRelease:
    case Call::cuMemUnmap:
    case Call::cuMemAddressFree:
      return true;
    default:
      return false;
  }
}

constexpr bool allocates(Call call) {
  switch (call) {
    case Call::cuMemAlloc:
    case Call::cuMemHostAlloc:
    case Call::cuMemHostRegister:
    case Call::cuMemAllocFromPoolAsync:
    case Call::cuMemCreate:
    case Call::cuMemAddressReserve:
    case Call::cuMemPoolCreate:
    case Call::cuStreamCreate:
    case Call::cuEventCreate:
    case Call::cuModuleLoadData:
    case Call::cuDevicePrimaryCtxRetain:
      return true;
    default:
      return false;
  }
}

constexpr bool needs_init(Call call) {
  return call != Call::cuInit && call != Call::cuDriverGetVersion && call != Call::cuGetErrorName;
}

}  // namespace

Status World::enter(Call call) {
  ++call_counts[static_cast<std::size_t>(call)];
  failing_ = faults_.fails(name_of(call));
  if (failing_ && !releases(call)) return allocates(call) ? Status::out_of_memory : Status::illegal_state;
  if (needs_init(call) && !initialized_) return Status::not_initialized;
  spend(host_seconds(call));
  return Status::success;
}

Status World::leave(Call call, Status status) {
  return releases(call) && failing_ ? Status::illegal_state : status;
}

int claim_slot() {
  for (int slot = 0; slot < most_simulations; ++slot) {
    if (!claimed[slot].exchange(true)) return slot;
  }
  return -1;
}

void release_slot(int slot) {
  worlds[slot].store(nullptr, std::memory_order_release);
  claimed[slot].store(false);
}

void fill_table(int slot, World* world) {
  fill_slot(slot, world->table, std::make_integer_sequence<int, most_simulations>());
  worlds[slot].store(world, std::memory_order_release);
}

}  // namespace peerlane::sim

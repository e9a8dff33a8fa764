/// Modules, functions and launches.

#include <algorithm>

#include "sim/world.hpp"

namespace peerlane::sim {

using cu::Status;

Status World::cuModuleLoadData(cu::Module* module, const void* image) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (module == nullptr || image == nullptr) return Status::invalid_value;
  *module = new_handle<cu::Module>();
  modules_.add(*module, std::make_shared<Module>(Module{context}));
  return Status::success;
}

Status World::cuModuleUnload(cu::Module module) {
  const auto known = modules_.share(module);
  if (!known) return Status::invalid_handle;
  functions_.remove_if([&](const Function& function) { return function.module == module; });
  modules_.remove(module);
  return known->context->error;
}

Status World::cuModuleGetFunction(cu::Function* function, cu::Module module, const char* name) {
  const Module* known = modules_.find(module);
  if (known == nullptr) return Status::invalid_handle;
  PEERLANE_STATUS(known->context->error);
  if (function == nullptr || name == nullptr) return Status::invalid_value;
  const Kernel* kernel = find_kernel(name);
  if (kernel == nullptr) return Status::not_found;
  *function = new_handle<cu::Function>();
  functions_.add(*function, std::make_shared<Function>(Function{known->context, module, kernel}));
  return Status::success;
}

Status World::cuLaunchKernel(cu::Function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, cu::Stream stream_handle,
                             void** parameters, void** extra) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  const Function* function = functions_.find(handle);
  if (function == nullptr) return Status::invalid_handle;
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(stream_handle, stream));
  if (function->context != context || stream->context != context) return Status::invalid_handle;
  constexpr unsigned most_threads = 1024;
  constexpr unsigned most_shared_bytes = 227 * 1024;
  const auto threads = static_cast<std::uint64_t>(block_x) * block_y * block_z;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 || threads > most_threads) return Status::invalid_value;
  if (shared_bytes > most_shared_bytes || parameters == nullptr || extra != nullptr) return Status::invalid_value;

  KernelWork work{function->kernel->call(parameters)};
  std::vector<std::shared_ptr<Memory>> uses;
  for (const KernelAccess& access : work.call.accesses) {
    auto memory = book_.find(access.address);
    if (memory && access.bytes > 0 && std::ranges::find(uses, memory) == uses.end()) uses.push_back(std::move(memory));
  }
  Road road = kernel_road(work, context->gpu);
  const Bytes bulk = work.call.accesses.empty() ? 0 : work.call.accesses.front().bytes;
  submit(stream, std::move(work), std::move(uses), std::move(road), bulk, bulk);
  return Status::success;
}

Road World::kernel_road(const KernelWork& work, int gpu) {
  const Place own = peerlane::gpu(gpu);
  if (work.call.accesses.empty()) return roads_.kernel(gpu, own, false);
  const KernelAccess& bulk = work.call.accesses.front();
  const auto memory = book_.find(bulk.address);
  return roads_.kernel(gpu, memory ? memory->place() : own, bulk.writes);
}

bool World::kernel_is_legal(const KernelWork& work, int gpu) const {
  return std::ranges::all_of(work.call.accesses, [&](const KernelAccess& access) {
    if (access.bytes == 0) return true;
    const auto memory = book_.find(access.address);
    return memory && memory->holds(access.address, access.bytes) && may_touch(gpu, *memory, access.writes);
  });
}

/// Faults strike the bulk of the bytes; the rest is small and goes as it should.
void World::run_kernel(const KernelWork& work, int gpu, const Effects& effects) {
  const Place own = peerlane::gpu(gpu);
  std::vector<std::byte*> memory;
  End bulk;
  for (const KernelAccess& access : work.call.accesses) {
    const auto found = access.bytes > 0 ? book_.find(access.address) : nullptr;
    memory.push_back(found ? found->at(access.address) : nullptr);
    if (memory.size() == 1 && found) bulk = {found->place(), found, access.address, nullptr};
  }
  if (!bulk.memory) return work.call.run(memory);
  const KernelAccess& access = work.call.accesses.front();
  if (mover_.is_plain(effects)) {
    if (access.overwrites) ByteMover::prepare(bulk, access.bytes);
    return work.call.run(memory);
  }
  std::vector<std::byte> seen = mover_.read(bulk, access.bytes, own, access.writes ? Effects{} : effects, gpu);
  memory.front() = seen.data();
  work.call.run(memory);
  if (!access.writes) return;
  mover_.write_struck(bulk, std::move(seen), own, effects);
}

}  // namespace peerlane::sim

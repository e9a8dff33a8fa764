/// Operations: from a stream's queue through engines and links to their completion.

#include <algorithm>
#include <atomic>
#include <utility>

#include "sim/world.hpp"

namespace peerlane::sim {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

std::shared_ptr<Operation> World::submit(const std::shared_ptr<Stream>& stream, Operation::Work work,
                                         std::vector<std::shared_ptr<Memory>> uses, Road road, Bytes crossing,
                                         Bytes flowing) {
  auto operation = std::make_shared<Operation>();
  operation->serial = next_operation_++;
  operation->stream = stream;
  operation->work = std::move(work);
  std::erase(uses, nullptr);
  for (const auto& memory : uses) ++memory->users;
  operation->uses = std::move(uses);
  operation->road = std::move(road);
  operation->crossing = crossing;
  operation->flowing = flowing;
  stream->queue.push_back(operation);
  wake(stream);
  settle();
  return operation;
}

/// The legacy stream and the blocking streams of its context hold each other back.
void World::wake_others(const Stream& stream) {
  if (!stream.context->legacy || !(stream.blocking || stream.is_legacy)) return;
  for (const auto& other : stream.context->streams) wake(other);
}

/// The host writes pinned memory without a call, so waiting words are looked at whenever time moves.
void World::look_at_values() {
  wake_value_waiters();
  settle();
}

void World::wake_value_waiters() {
  for (const auto& stream : std::exchange(value_waiters_, {})) wake(stream);
}

void World::settle() {
  while (!ready_.empty()) {
    const auto stream = std::move(ready_.front());
    ready_.pop_front();
    advance(stream);
  }
}

void World::advance(const std::shared_ptr<Stream>& stream) {
  while (!stream->queue.empty()) {
    const auto operation = stream->queue.front();
    if (operation->started || !may_start(*operation)) return;
    if (!begin(operation)) return;
  }
}

bool World::may_start(const Operation& operation) const {
  const Stream& stream = *operation.stream;
  if (!stream.context->legacy || !(stream.blocking || stream.is_legacy)) return true;
  return std::ranges::none_of(stream.context->streams, [&](const auto& other) {
    const bool ordered = stream.is_legacy ? other->blocking : other->is_legacy;
    return ordered && !other->queue.empty() && other->queue.front()->serial < operation.serial;
  });
}

/// True when it is over already and the next one may try.
bool World::begin(const std::shared_ptr<Operation>& operation) {
  const auto over_at_once = [&] {
    finish(operation);
    return true;
  };
  return std::visit(Overloaded{
                        [&](const RecordWork& work) {
                          work.record->done = true;
                          work.record->at = timeline_.now();
                          for (const auto& waiting : std::exchange(work.record->waiting, {})) {
                            if (const auto stream = waiting.lock()) wake(stream);
                          }
                          return over_at_once();
                        },
                        [&](const WaitWork& work) {
                          if (work.record->done) return over_at_once();
                          work.record->waiting.push_back(operation->stream);
                          return false;
                        },
                        [&](const WaitValueWork& work) {
                          if (value_reached(work)) return over_at_once();
                          value_waiters_.push_back(operation->stream);
                          return false;
                        },
                        [&](const WriteValueWork& work) {
                          mover_.write(work.at, std::as_bytes(std::span(&work.value, 1)),
                                       peerlane::gpu(operation->stream->context->gpu), {});
                          wake_value_waiters();
                          return over_at_once();
                        },
                        [&](const HostWork&) {
                          operation->started = true;
                          host_calls_.push_back(operation);
                          return false;
                        },
                        [&](const FreeWork& work) {
                          const auto memory = work.memory;
                          finish(operation);
                          remove(memory);
                          return true;
                        },
                        [&](const auto&) { return begin_timed(operation); },
                    },
                    operation->work);
}

bool World::value_reached(const WaitValueWork& work) const {
  std::uint32_t& word = *reinterpret_cast<std::uint32_t*>(work.at.data());
  const std::uint32_t seen = std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire);
  if (work.flags == cu::wait_value_equal) return seen == work.value;
  return static_cast<std::int32_t>(seen - work.value) >= 0;
}

bool World::begin_timed(const std::shared_ptr<Operation>& operation) {
  const int gpu = operation->stream->context->gpu;
  const bool is_copy = std::holds_alternative<CopyWork>(operation->work);
  if (is_copy && !take_engine(operation)) return false;
  operation->started = true;
  if (faults_.lose(gpu)) {
    lose(gpu);
    return false;
  }
  operation->effects = faults_.strike(operation->road.ways, gpu);
  if (!operation->effects.stuck && !touches_lost(*operation)) run(operation);
  return false;
}

/// Time to the first byte, then the bytes at their share of the road.
void World::run(const std::shared_ptr<Operation>& operation) {
  const double factor = seconds(noisy(1));
  const auto flow = [this, operation, factor] {
    if (operation->over) return;
    if (operation->flowing == 0) return complete(operation);
    operation->flow = timeline_.start({static_cast<double>(operation->flowing) * factor, operation->road.ceiling,
                                       operation->road.resources, [this, operation] { complete(operation); }});
  };
  timeline_.after(from_seconds(operation->road.fixed_s * factor), flow);
}

void World::count_on_links(const Operation& operation) {
  for (const machine::Segment& segment : operation.road.segments) {
    auto& [forward, back] = carried[segment.link];
    (segment.forward ? forward : back) += operation.crossing;
  }
}

void World::complete(const std::shared_ptr<Operation>& operation) {
  if (operation->over) return;
  operation->flow.reset();
  const int gpu = operation->stream->context->gpu;
  if (const auto* copy = std::get_if<CopyWork>(&operation->work)) {
    mover_.copy(copy->from, copy->to, copy->bytes, operation->effects, gpu);
  } else if (const auto* memset = std::get_if<MemsetWork>(&operation->work)) {
    mover_.fill(memset->to, memset->value, memset->bytes, operation->effects, gpu);
  } else {
    const auto& kernel = std::get<KernelWork>(operation->work);
    if (!kernel_is_legal(kernel, gpu)) return end_context(*operation->stream->context, cu::Status::illegal_address);
    run_kernel(kernel, gpu, operation->effects);
  }
  count_on_links(*operation);
  finish(operation);
}

void World::finish(const std::shared_ptr<Operation>& operation) {
  Stream& stream = *operation->stream;
  let_go(*operation);
  stream.queue.pop_front();
  if (stream.queue.empty() && !stream.is_legacy && streams_.find(stream.handle) == nullptr) {
    std::erase(stream.context->streams, operation->stream);  // destroyed while it had work left
  }
  wake(operation->stream);
  wake_others(stream);
}

void World::let_go(Operation& operation) {
  operation.over = true;
  if (operation.flow) timeline_.cancel(*operation.flow);
  operation.flow.reset();
  release_engine(operation);
  for (const auto& memory : operation.uses) --memory->users;
  operation.uses.clear();
}

bool World::take_engine(const std::shared_ptr<Operation>& operation) {
  Gpu& gpu = *gpus_[operation->stream->context->gpu];
  if (gpu.idle_engines > 0) {
    --gpu.idle_engines;
    operation->holds_engine = true;
    return true;
  }
  if (!std::exchange(operation->waits_for_engine, true)) gpu.engine_queue.push_back(operation);
  return false;
}

void World::release_engine(Operation& operation) {
  if (!std::exchange(operation.holds_engine, false)) return;
  Gpu& gpu = *gpus_[operation.stream->context->gpu];
  ++gpu.idle_engines;
  while (!gpu.engine_queue.empty()) {
    const auto next = gpu.engine_queue.front().lock();
    gpu.engine_queue.pop_front();
    if (!next || next->over || next->started) continue;
    next->waits_for_engine = false;
    wake(next->stream);
    return;
  }
}

/// Nobody answers at the other end: such an operation never finishes.
bool World::touches_lost(const Operation& operation) const {
  return std::ranges::any_of(operation.uses,
                             [&](const auto& memory) { return memory->on_gpu() && gpus_[memory->gpu]->lost; });
}

/// As on hardware: nothing of the context finishes any more, and every later call of it gives the same error. (The CUDA
/// runtime was seen to fail the whole process then; the driver's other contexts go on here.)
void World::end_context(Context& context, cu::Status why) {
  if (context.error != cu::Status::success) return;
  context.error = why;
  for (const auto& stream : context.streams) {
    for (const auto& operation : stream->queue) let_go(*operation);
    stream->queue.clear();
  }
}

void World::lose(int gpu) {
  gpus_[gpu]->lost = true;
  end_context(gpus_[gpu]->context, cu::Status::device_unavailable);
}

}  // namespace peerlane::sim

#include "sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/try.hpp"

namespace peerlane::sim {
namespace {

/// A blocking call on something that can never happen hangs for ever on hardware; here it ends with launch_timeout.
constexpr TimePoint patience = std::chrono::hours(1);
constexpr Bytes assumed_gpu_memory = 16_GiB;
constexpr int assumed_copy_engines = 3;

std::atomic<std::uint64_t> worlds_made{0};
thread_local bool in_host_function = false;

/// The context stack of this thread in the world that last used this slot.
struct ThreadStack {
  std::uint64_t world = 0;
  std::vector<Context*> contexts;
};
thread_local ThreadStack thread_stacks[most_simulations];

}  // namespace

World::World(const Machine& machine, Settings settings, int slot)
    : call_counts(static_cast<std::size_t>(Call::count)),
      carried(machine.links.size()),
      workers(*this),
      machine_(machine),
      settings_(settings),
      slot_(slot),
      serial_(++worlds_made),
      roads_(machine_, timeline_),
      noise_(settings.seed ^ 0x6E6F697365ull),
      schedule_(settings.seed ^ 0x6F72646572ull),
      chance_(settings.seed ^ 0x6368616E6365ull),
      mover_(chance_) {
  for (int ordinal = 0; ordinal < machine_.gpu_count(); ++ordinal) {
    const Node& node = *machine_.gpu(ordinal);
    auto gpu = std::make_unique<Gpu>();
    gpu->memory = node.memory > 0 ? node.memory : assumed_gpu_memory;
    gpu->idle_engines = node.copy_engines > 0 ? node.copy_engines : assumed_copy_engines;
    gpu->context.gpu = ordinal;
    gpu->context.handle = new_handle<cu::Context>();
    contexts_.add(gpu->context.handle, std::shared_ptr<Context>(std::shared_ptr<void>(), &gpu->context));
    gpus_.push_back(std::move(gpu));
  }
  for (const Node& node : machine_.nodes) {
    if (node.kind == NodeKind::numa) most_pinned_ += node.memory;
  }
}

World::~World() {
  for (const auto& gpu : gpus_) {
    for (const auto& stream : gpu->context.streams) stream->queue.clear();  // operations hold their streams
  }
}

template <class Handle>
Handle World::new_handle() {
  // Not an address that any processor accepts: whoever follows it faults.
  return reinterpret_cast<Handle>(std::uintptr_t{0xCD} << 56 | static_cast<std::uintptr_t>(slot_) << 48 |
                                  ++next_handle_ << 4);
}
template cu::Context World::new_handle();
template cu::Stream World::new_handle();
template cu::Event World::new_handle();
template cu::Module World::new_handle();
template cu::Function World::new_handle();
template cu::Pool World::new_handle();

bool World::inside_host_function() {
  return in_host_function;
}

std::vector<Context*>& World::stack() {
  ThreadStack& stack = thread_stacks[slot_];
  if (stack.world != serial_) {
    stack = {serial_, {}};
    ++threads_;
  }
  return stack.contexts;
}

cu::Status World::current(Context*& context) {
  if (stack().empty()) return cu::Status::invalid_context;
  context = stack().back();
  if (context->error != cu::Status::success) return context->error;
  return context->references > 0 ? cu::Status::success : cu::Status::context_is_destroyed;
}

cu::Status World::find(cu::Stream handle, std::shared_ptr<Stream>& stream) {
  const auto legacy_handle = reinterpret_cast<cu::Stream>(std::uintptr_t{1});  // CU_STREAM_LEGACY
  if (handle == nullptr || handle == legacy_handle) {
    Context* context = nullptr;
    PEERLANE_STATUS(current(context));
    stream = legacy_stream(*context);
    return cu::Status::success;
  }
  stream = streams_.share(handle);
  return stream ? stream->context->error : cu::Status::invalid_handle;
}

cu::Status World::find(cu::Event handle, Event*& event) {
  event = events_.find(handle);
  return event != nullptr ? event->context->error : cu::Status::invalid_handle;
}

Gpu* World::gpu(cu::Device device) {
  return device >= 0 && device < static_cast<int>(gpus_.size()) ? gpus_[device].get() : nullptr;
}

std::shared_ptr<Stream> World::legacy_stream(Context& context) {
  if (!context.legacy) {
    context.legacy = std::make_shared<Stream>();
    context.legacy->context = &context;
    context.legacy->is_legacy = true;
    context.streams.push_back(context.legacy);
  }
  return context.legacy;
}

Nanoseconds World::noisy(double seconds) {
  const double factor = settings_.noise > 0 ? std::max(0.05, 1 + settings_.noise * noise_.normal()) : 1;
  return from_seconds(seconds * factor);
}

void World::run_until(TimePoint time) {
  look_at_values();
  while (progress(time)) {
  }
  timeline_.skip_to(time);
}

bool World::progress(TimePoint limit) {
  settle();
  const auto next = timeline_.next();
  if (!next || *next > limit) return false;
  timeline_.step();
  look_at_values();
  settle();
  return true;
}

void World::call_host_functions() {
  while (!host_calls_.empty()) {
    const auto operation = std::move(host_calls_.front());
    host_calls_.pop_front();
    if (operation->over) continue;
    const HostWork work = std::get<HostWork>(operation->work);
    {
      const Unlocked unlocked(mutex_);
      in_host_function = true;
      work.function(work.data);
      in_host_function = false;
    }
    if (!operation->over) finish(operation);
    settle();
  }
}

/// Other threads may still do what this one waits for; then the end of all events is not the end of hope.
cu::Status World::wait(Context& context, const std::function<bool()>& done) {
  constexpr int looks_at_other_threads = 200;
  const TimePoint limit = timeline_.now() + patience;
  int idle_looks = 0;
  while (true) {
    call_host_functions();
    if (context.error != cu::Status::success) return context.error;
    if (done()) return cu::Status::success;
    if (progress(limit)) continue;
    if (threads_ < 2 || idle_looks++ == looks_at_other_threads) break;
    {
      const Unlocked unlocked(mutex_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    look_at_values();
  }
  timeline_.skip_to(limit);
  return cu::Status::launch_timeout;
}

/// A host that does nothing but look at one thing is let through to the next event: its time would pass anyway.
cu::Status World::poll(Polls& polls) {
  constexpr int patient_polls = 64;
  call_host_functions();
  if (polls.happened != timeline_.happened()) polls = {timeline_.happened(), 0};
  if (++polls.count > patient_polls) {
    const auto next = timeline_.next();
    run_until(next ? *next : timeline_.now() + std::chrono::milliseconds(1));
  }
  return cu::Status::not_ready;
}

Result<void> World::add_fault(const std::string& text) {
  PEERLANE_TRY(faults_.add(text, machine_));
  if (faults_.any_stale()) mover_.keep_history();
  for (int ordinal = 0; ordinal < static_cast<int>(gpus_.size()); ++ordinal) {
    if (faults_.lost_from_start(ordinal)) lose(ordinal);
  }
  return {};
}

/// The last reference is gone: everything of the context goes with it, and what the program forgot is remembered.
void World::leave_with_context(Context& context) {
  const bool ended = context.error != cu::Status::success;
  const auto forgotten = [&](std::size_t count, std::string_view what) {
    if (count == 0 || ended) return;
    misdeeds_.push_back(fmt::format("gpu:{}: {} {} left when its context was released", context.gpu, count, what));
  };
  for (const auto& stream : context.streams) {
    for (const auto& operation : stream->queue) let_go(*operation);
    stream->queue.clear();
  }
  const auto of_context = [&](const auto& object) { return object.context == &context; };
  forgotten(streams_.remove_if(of_context), "streams");
  forgotten(events_.remove_if(of_context), "events");
  forgotten(modules_.remove_if(of_context), "modules");
  functions_.remove_if(of_context);
  std::vector<std::shared_ptr<Memory>> memories;
  for (const auto& [base, memory] : book_.all()) {
    if (memory->context == &context && memory->kind == MemoryKind::device) memories.push_back(memory);
  }
  forgotten(memories.size(), "allocations");
  for (const auto& memory : memories) remove(memory);
  context.streams.clear();
  context.legacy.reset();
  context.peers.clear();
  context.error = gpus_[context.gpu]->lost ? cu::Status::device_unavailable : cu::Status::success;
}

}  // namespace peerlane::sim

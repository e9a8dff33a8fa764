#pragma once
/// The simulated driver's state and its calls. One mutex guards it all; every driver call enters through
/// trampolines.cpp, which holds the mutex around it.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "peerlane/machine.hpp"
#include "sim/bytes.hpp"
#include "sim/host_costs.hpp"
#include "sim/objects.hpp"
#include "sim/random.hpp"
#include "sim/simulation.hpp"
#include "sim/stepped_workers.hpp"

namespace peerlane::sim {

class Simulation::World {
 public:
  World(const Machine& machine, Settings settings, int slot);
  ~World();

  // As the trampolines call them, with the mutex held.
#define PEERLANE_METHOD(name, version, parameters) cu::Status name parameters;
  PEERLANE_CUDA_CALLS(PEERLANE_METHOD)
#undef PEERLANE_METHOD
  void* host_pages(Bytes bytes, int node);
  void free_host_pages(void* pages, Bytes bytes);

  /// Counts a call and asks whether it may go on; then its host time passes.
  cu::Status enter(Call call);
  /// What to answer after the call was made: the status, or a fault that lets the work be done and complains after.
  cu::Status leave(Call call, cu::Status status);
  /// True on a thread that is inside a function given to cuLaunchHostFunc.
  static bool inside_host_function();

  Result<void> add_fault(const std::string& text);
  std::vector<std::string> leaks() const;

  // For the workers, with the mutex held.
  std::mutex& mutex() {
    return mutex_;
  }
  Timeline& timeline() {
    return timeline_;
  }
  const Machine& machine() const {
    return machine_;
  }
  int slot() const {
    return slot_;
  }
  Nanoseconds noisy(double seconds);
  std::uint64_t draw(std::uint64_t bound) {
    return schedule_.below(bound);
  }
  void run_until(TimePoint time);
  /// Lets the next thing happen if it does so by `limit`.
  bool progress(TimePoint limit);
  /// Functions of cuLaunchHostFunc whose turn has come; called with the mutex let go.
  void call_host_functions();

  vendor::CudaDriver table;
  std::vector<std::uint64_t> call_counts;
  std::vector<std::pair<Bytes, Bytes>> carried;
  SteppedWorkers workers;

 private:
  enum class Openness { closed, half, open };

  // world.cpp: threads, handles, time
  std::vector<Context*>& stack();
  cu::Status current(Context*& context);
  cu::Status find(cu::Stream handle, std::shared_ptr<Stream>& stream);
  cu::Status find(cu::Event handle, Event*& event);
  Gpu* gpu(cu::Device device);
  std::shared_ptr<Stream> legacy_stream(Context& context);
  template <class Handle>
  Handle new_handle();
  void spend(double seconds) {
    run_until(timeline_.now() + noisy(seconds));
  }
  cu::Status wait(Context& context, const std::function<bool()>& done);
  cu::Status poll(Polls& polls);
  void leave_with_context(Context& context);

  // queues.cpp: operations
  std::shared_ptr<Operation> submit(const std::shared_ptr<Stream>& stream, Operation::Work work,
                                    std::vector<std::shared_ptr<Memory>> uses, Road road = {}, Bytes crossing = 0,
                                    Bytes flowing = 0);
  void wake(const std::shared_ptr<Stream>& stream) {
    ready_.push_back(stream);
  }
  void wake_others(const Stream& stream);
  void wake_value_waiters();
  void look_at_values();
  void settle();
  void advance(const std::shared_ptr<Stream>& stream);
  bool may_start(const Operation& operation) const;
  bool begin(const std::shared_ptr<Operation>& operation);
  bool begin_timed(const std::shared_ptr<Operation>& operation);
  void run(const std::shared_ptr<Operation>& operation);
  void count_on_links(const Operation& operation);
  void complete(const std::shared_ptr<Operation>& operation);
  void finish(const std::shared_ptr<Operation>& operation);
  void let_go(Operation& operation);
  bool take_engine(const std::shared_ptr<Operation>& operation);
  void release_engine(Operation& operation);
  bool touches_lost(const Operation& operation) const;
  void end_context(Context& context, cu::Status why);
  void lose(int gpu);
  bool value_reached(const WaitValueWork& work) const;

  // calls_copy.cpp: ends and roads
  enum class Side { device, host, any };
  cu::Status find_end(std::uint64_t address, Bytes bytes, Side side, End& end);
  cu::Status copy(const End& from, const End& to, Bytes bytes, cu::Stream stream, bool by_names);
  Road road_between(const End& from, const End& to, int issuer);
  Openness openness(int gpu, const Memory& memory) const;
  bool may_touch(int gpu, const Memory& memory, bool writes) const;

  // calls_kernel.cpp
  Road kernel_road(const KernelWork& work, int gpu);
  bool kernel_is_legal(const KernelWork& work, int gpu) const;
  void run_kernel(const KernelWork& work, int gpu, const Effects& effects);
  bool can_access(int from, int to) const;

  // calls_memory.cpp
  std::shared_ptr<Memory> make_device_memory(Bytes bytes, int gpu, MemoryKind kind);
  void remove(const std::shared_ptr<Memory>& memory);
  cu::Status free_when_quiet(Context& context, std::shared_ptr<Memory> memory);

  // calls_pool.cpp
  cu::Status pool_of(cu::Pool handle, std::shared_ptr<Pool>& pool);

  // calls_vmm.cpp
  void drop_unused(const std::shared_ptr<Physical>& physical);
  std::vector<std::shared_ptr<Memory>> mappings_in(cu::DevicePtr pointer, Bytes bytes) const;

  std::mutex mutex_;
  const Machine machine_;
  const Settings settings_;
  const int slot_;
  const std::uint64_t serial_;  // of this world in the process: a slot is used again
  Timeline timeline_;
  Roads roads_;
  Random noise_, schedule_, chance_;
  Faults faults_;
  ByteMover mover_;
  AddressBook book_;
  bool initialized_ = false;
  bool failing_ = false;  // a fault has struck the call under way
  std::uint64_t next_handle_ = 0;
  std::uint64_t next_operation_ = 0;
  std::atomic<int> threads_{0};
  std::vector<std::unique_ptr<Gpu>> gpus_;
  Bytes pinned_ = 0;
  Bytes most_pinned_ = 0;  // 0: as much as the system gives

  Table<cu::Context, Context> contexts_;
  Table<cu::Stream, Stream> streams_;
  Table<cu::Event, Event> events_;
  Table<cu::Module, Module> modules_;
  Table<cu::Function, Function> functions_;
  Table<cu::Pool, Pool> pools_;
  std::map<cu::AllocationHandle, std::shared_ptr<Physical>> physicals_;

  std::deque<std::shared_ptr<Stream>> ready_;
  std::vector<std::shared_ptr<Stream>> value_waiters_;
  std::deque<std::shared_ptr<Operation>> host_calls_;
  std::vector<std::string> misdeeds_;  // what was lost for good: sentences for leaks()
};

using World = Simulation::World;

/// The table's functions for one slot, and who answers them.
inline constexpr int most_simulations = 8;
int claim_slot();  ///< -1 when all are taken
void release_slot(int slot);
void fill_table(int slot, World* world);

/// Lets the mutex go for a scope.
class Unlocked {
 public:
  explicit Unlocked(std::mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::mutex& mutex_;
};

}  // namespace peerlane::sim

/// Return from this driver call unless that succeeds.
#define PEERLANE_STATUS(...)                                                                      \
  do {                                                                                            \
    if (const cu::Status peerlane_status = (__VA_ARGS__); peerlane_status != cu::Status::success) \
      return peerlane_status;                                                                     \
  } while (false)

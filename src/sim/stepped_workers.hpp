#pragma once
/// Workers that are steps of the simulation: on the waiting thread, in virtual time, in an order drawn from the seed.

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "base/workers.hpp"
#include "sim/simulation.hpp"

namespace peerlane::sim {

class SteppedWorkers final : public Workers {
 public:
  explicit SteppedWorkers(Simulation::World& world) : world_(world) {}

  void post(Job job) override;
  void watch(std::function<bool()> ready) override;
  bool wait(const std::function<bool()>& done, TimePoint until) override;

 private:
  /// One thing: an ended job, a look at the watches, or a step of the simulation. False once time stands at `until` and
  /// nothing more can happen before it. `seen`: what had happened before the caller last looked.
  bool round(TimePoint until, std::uint64_t seen);
  std::uint64_t happened() const;
  bool run_ended_job();
  bool look_at_watches();
  void start_jobs();
  double duration_s(const Job& job) const;

  Simulation::World& world_;
  std::mutex turn_;  // one thread steps at a time; taken before the world's
  // All else is guarded by the world's mutex.
  std::deque<Job> posted_;
  std::deque<Job> ended_;  // in virtual time; still to be run
  int busy_ = 0;
  std::vector<std::function<bool()>> watches_;
  bool look_again_ = false;
  std::uint64_t looked_at_ = 0;
};

}  // namespace peerlane::sim

#pragma once
/// Where host work runs, and how a thread waits for it. On a real machine: threads. On a simulated one: steps on the
/// waiting thread, in virtual time, in an order drawn from a seed.

#include <functional>
#include <string_view>

#include "base/clock.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

/// What a job does to the machine while it runs; only a simulated machine looks at it.
enum class WorkKind { cpu_copy, file_read, file_write, other };

struct Job {
  std::function<void()> run;  ///< does the work; must not throw and must not wait for another job
  WorkKind kind = WorkKind::other;
  Bytes bytes = 0;
};

class Workers {
 public:
  virtual ~Workers() = default;

  /// Runs the job on a worker, soon. Never blocks.
  virtual void post(Job job) = 0;

  /// Calls `ready` now and then, on a worker, until it answers true; then forgets it. `ready` is cheap and may post.
  virtual void watch(std::function<bool()> ready) = 0;

  /// Blocks the caller until `done` answers true or the clock reaches `until`; returns the last answer of `done`.
  /// `done` is called from this thread only.
  virtual bool wait(const std::function<bool()>& done, TimePoint until) = 0;
};

}  // namespace peerlane

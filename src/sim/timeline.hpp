#pragma once
/// Virtual time: timers, and flows of bytes that share resources max-min fairly.
///
/// A resource is anything with a rate: one direction of a link, a GPU's memory. Nothing here knows what it stands for.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.hpp"

namespace peerlane::sim {

class Timeline final : public Clock {
 public:
  using Action = std::function<void()>;
  using FlowId = std::uint64_t;

  struct Flow {
    double bytes = 0;
    double ceiling = 0;          ///< bytes per second that this flow never exceeds
    std::vector<int> resources;  ///< all crossed at the same rate
    Action done;
  };

  /// May be asked from any thread.
  TimePoint now() const override { return TimePoint(now_.load(std::memory_order_acquire)); }

  int add_resource(double bytes_per_s);
  void after(Nanoseconds delay, Action action);
  FlowId start(Flow flow);
  void cancel(FlowId flow);

  /// When the next thing happens, if anything is left to happen.
  std::optional<TimePoint> next();
  /// Moves to the next thing and lets it happen. False when there is none.
  bool step();
  /// Nothing may be due before `time`.
  void skip_to(TimePoint time);

  /// Grows with everything that happens.
  std::uint64_t happened() const { return happened_; }

 private:
  struct Running {
    Flow flow;
    double rate = 0;
    TimePoint end{};
  };
  using TimerKey = std::pair<TimePoint, std::uint64_t>;  // equal times: in the order in which they were set

  void settle_progress();
  void share_out();
  std::map<FlowId, Running>::iterator first_to_end();

  std::atomic<std::int64_t> now_{0};
  std::uint64_t serial_ = 0;
  std::uint64_t happened_ = 0;
  std::map<TimerKey, Action> timers_;
  std::map<FlowId, Running> flows_;
  std::vector<double> capacities_;
  TimePoint settled_{};
  bool shares_stale_ = false;
};

}  // namespace peerlane::sim

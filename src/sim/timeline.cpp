#include "sim/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace peerlane::sim {

int Timeline::add_resource(double bytes_per_s) {
  capacities_.push_back(std::max(bytes_per_s, 1.0));
  return static_cast<int>(capacities_.size()) - 1;
}

void Timeline::after(Nanoseconds delay, Action action) {
  timers_.emplace(TimerKey{now() + std::max(delay, Nanoseconds{0}), serial_++}, std::move(action));
}

Timeline::FlowId Timeline::start(Flow flow) {
  settle_progress();
  shares_stale_ = true;
  flow.ceiling = std::max(flow.ceiling, 1.0);
  const FlowId id = serial_++;
  flows_.emplace(id, Running{std::move(flow), 0, {}});
  return id;
}

void Timeline::cancel(FlowId flow) {
  settle_progress();
  shares_stale_ = true;
  flows_.erase(flow);
}

/// Takes off what has flowed since the shares were last changed.
void Timeline::settle_progress() {
  if (settled_ == now()) return;
  const double passed = seconds(now() - settled_);
  for (auto& [id, running] : flows_) running.flow.bytes = std::max(0.0, running.flow.bytes - running.rate * passed);
  settled_ = now();
}

/// Progressive filling: all flows grow alike until a ceiling or a resource stops some of them; the rest grow on.
void Timeline::share_out() {
  shares_stale_ = false;
  std::vector<double> left = capacities_;
  std::vector<int> sharers(capacities_.size(), 0);
  std::vector<Running*> growing;
  for (auto& [id, running] : flows_) {
    growing.push_back(&running);
    for (const int resource : running.flow.resources) ++sharers[resource];
  }
  while (!growing.empty()) {
    double level = std::numeric_limits<double>::infinity();
    for (const Running* running : growing) {
      level = std::min(level, running->flow.ceiling);
      for (const int resource : running->flow.resources) level = std::min(level, left[resource] / sharers[resource]);
    }
    const double stopped = level * (1 + 1e-9);
    const auto is_stopped = [&](const Running* running) {
      return running->flow.ceiling <= stopped ||
             std::ranges::any_of(running->flow.resources, [&](int r) { return left[r] / sharers[r] <= stopped; });
    };
    const auto first_stopped = std::stable_partition(growing.begin(), growing.end(), std::not_fn(is_stopped));
    for (auto it = first_stopped; it != growing.end(); ++it) (*it)->rate = level;
    for (auto it = first_stopped; it != growing.end(); ++it) {
      for (const int resource : (*it)->flow.resources) {
        left[resource] = std::max(0.0, left[resource] - level);
        --sharers[resource];
      }
    }
    growing.erase(first_stopped, growing.end());
  }
  for (auto& [id, running] : flows_) {
    const double needed_s = running.flow.bytes / std::max(running.rate, 1.0);
    running.end = now() + Nanoseconds(static_cast<std::int64_t>(std::ceil(needed_s * 1e9)));
  }
}

std::map<Timeline::FlowId, Timeline::Running>::iterator Timeline::first_to_end() {
  if (shares_stale_) share_out();
  return std::min_element(flows_.begin(), flows_.end(),
                          [](const auto& a, const auto& b) { return a.second.end < b.second.end; });
}

std::optional<TimePoint> Timeline::next() {
  std::optional<TimePoint> first;
  if (const auto flow = first_to_end(); flow != flows_.end()) first = flow->second.end;
  if (!timers_.empty()) first = std::min(first.value_or(TimePoint::max()), timers_.begin()->first.first);
  return first;
}

bool Timeline::step() {
  const auto flow = first_to_end();
  const bool has_flow = flow != flows_.end();
  if (!has_flow && timers_.empty()) return false;
  Action action;
  if (timers_.empty() || (has_flow && flow->second.end <= timers_.begin()->first.first)) {
    now_.store(std::max(now(), flow->second.end).count(), std::memory_order_release);
    action = std::move(flow->second.flow.done);
    cancel(flow->first);
  } else {
    const auto timer = timers_.begin();
    now_.store(std::max(now(), timer->first.first).count(), std::memory_order_release);
    action = std::move(timer->second);
    timers_.erase(timer);
  }
  ++happened_;
  action();
  return true;
}

void Timeline::skip_to(TimePoint time) {
  if (time > now()) now_.store(time.count(), std::memory_order_release);
}

}  // namespace peerlane::sim

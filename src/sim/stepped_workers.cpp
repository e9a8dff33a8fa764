#include "sim/stepped_workers.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "sim/world.hpp"

namespace peerlane::sim {
namespace {

constexpr double job_fixed_s = 2e-6;

/// Later than this no clock of ours goes; sums of times stay far from overflow.
constexpr TimePoint end_of_time = std::chrono::hours(24 * 365 * 100);

}  // namespace

void SteppedWorkers::post(Job job) {
  const std::lock_guard lock(world_.mutex());
  posted_.push_back(std::move(job));
  start_jobs();
}

void SteppedWorkers::watch(std::function<bool()> ready) {
  const std::lock_guard lock(world_.mutex());
  watches_.push_back(std::move(ready));
  look_again_ = true;
}

double SteppedWorkers::duration_s(const Job& job) const {
  const HostRates& rates = world_.machine().host;
  double bytes_per_s = 0;
  if (job.kind == WorkKind::cpu_copy) bytes_per_s = rates.cpu_copy_bytes_per_s;
  if (job.kind == WorkKind::file_read) bytes_per_s = rates.file_read_bytes_per_s;
  if (job.kind == WorkKind::file_write) bytes_per_s = rates.file_write_bytes_per_s;
  return job_fixed_s + (bytes_per_s > 0 ? static_cast<double>(job.bytes) / bytes_per_s : 0);
}

void SteppedWorkers::start_jobs() {
  const int workers = std::max(world_.machine().host.workers, 1);
  while (busy_ < workers && !posted_.empty()) {
    ++busy_;
    const auto drawn = posted_.begin() + static_cast<std::ptrdiff_t>(world_.draw(posted_.size()));
    const auto job = std::make_shared<Job>(std::move(*drawn));
    posted_.erase(drawn);
    world_.timeline().after(world_.noisy(duration_s(*job)), [this, job] { ended_.push_back(std::move(*job)); });
  }
}

bool SteppedWorkers::run_ended_job() {
  if (ended_.empty()) return false;
  {
    const Job job = std::move(ended_.front());
    ended_.pop_front();
    const Unlocked unlocked(world_.mutex());
    job.run();
  }
  --busy_;
  look_again_ = true;
  start_jobs();
  return true;
}

bool SteppedWorkers::look_at_watches() {
  if (watches_.empty() || (!look_again_ && looked_at_ == world_.timeline().happened())) return false;
  look_again_ = false;
  looked_at_ = world_.timeline().happened();
  std::vector<std::function<bool()>> watches = std::exchange(watches_, {});
  std::size_t satisfied = 0;
  {
    const Unlocked unlocked(world_.mutex());
    satisfied = std::erase_if(watches, [](const auto& ready) { return ready(); });
  }
  if (satisfied > 0) look_again_ = true;
  watches_.insert(watches_.begin(), std::move_iterator(watches.begin()), std::move_iterator(watches.end()));
  return true;
}

bool SteppedWorkers::round(TimePoint until, std::uint64_t seen) {
  const std::lock_guard turn(turn_);
  const std::lock_guard lock(world_.mutex());
  world_.call_host_functions();
  if (run_ended_job() || look_at_watches()) return true;
  if (world_.progress(until)) return true;
  if (world_.timeline().now() >= until) return false;
  if (world_.timeline().happened() != seen) return true;  // the caller's look took host time, and things happened in it
  world_.run_until(until);
  look_again_ = true;  // a watch may look at the clock
  return true;
}

bool SteppedWorkers::wait(const std::function<bool()>& done, TimePoint until) {
  const TimePoint end = std::min(until, end_of_time);
  while (true) {
    const std::uint64_t seen = happened();
    if (done()) return true;
    const bool late = world_.timeline().now() >= end;
    if (!round(end, seen) || late) return done();
  }
}

std::uint64_t SteppedWorkers::happened() const {
  const std::lock_guard lock(world_.mutex());
  return world_.timeline().happened();
}

}  // namespace peerlane::sim

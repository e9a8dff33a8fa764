#pragma once
/// Workers that are threads; none is started before the first job.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/workers.hpp"

namespace peerlane::engine {

class ThreadedWorkers final : public Workers {
 public:
  /// `clock` may be a simulated machine's: deadlines are then virtual, the threads are real.
  ThreadedWorkers(const Clock& clock, int threads) : clock_(clock), threads_wanted_(threads) {}
  ~ThreadedWorkers() override;  ///< finishes queued jobs, forgets watches

  void post(Job job) override;
  void watch(std::function<bool()> ready) override;
  bool wait(const std::function<bool()>& done, TimePoint until) override;

 private:
  void start_threads();  // mutex held
  void work();
  void poll_watches(std::unique_lock<std::mutex>& lock);

  const Clock& clock_;
  const int threads_wanted_;
  std::mutex mutex_;
  std::condition_variable work_;      // a job, a watch, or the end
  std::condition_variable progress_;  // a job ended or a watch was satisfied
  std::deque<Job> jobs_;
  std::vector<std::function<bool()>> watches_;
  bool polling_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace peerlane::engine

#include "engine/threaded_workers.hpp"

#include <algorithm>
#include <system_error>

namespace peerlane::engine {

namespace {
// Between two looks at what a GPU is doing. An event query costs 0.2 µs, a chunk takes tens to hundreds of µs.
constexpr auto watch_interval = std::chrono::microseconds(20);
// A waiting thread looks this often without sleeping before it starts to: a small copy is over by then.
constexpr int eager_looks = 200;
}  // namespace

ThreadedWorkers::~ThreadedWorkers() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    watches_.clear();
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadedWorkers::start_threads() {
  while (static_cast<int>(threads_.size()) < threads_wanted_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      break;  // fewer threads than hoped for are enough; without any, wait() does the work itself
    }
  }
}

void ThreadedWorkers::post(Job job) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    start_threads();
  }
  work_.notify_one();
}

void ThreadedWorkers::watch(std::function<bool()> ready) {
  {
    std::lock_guard lock(mutex_);
    watches_.push_back(std::move(ready));
    start_threads();
  }
  work_.notify_one();
}

void ThreadedWorkers::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!jobs_.empty()) {
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job.run();
      job = {};
      lock.lock();
      progress_.notify_all();
      poll_watches(lock);
    } else if (stopping_) {
      return;
    } else if (!watches_.empty() && !polling_) {
      poll_watches(lock);
      if (!watches_.empty() && jobs_.empty()) work_.wait_for(lock, watch_interval);
    } else {
      work_.wait(lock);
    }
  }
}

void ThreadedWorkers::poll_watches(std::unique_lock<std::mutex>& lock) {
  if (polling_ || watches_.empty()) return;
  polling_ = true;
  auto watches = std::move(watches_);
  watches_.clear();
  lock.unlock();
  const auto satisfied = std::remove_if(watches.begin(), watches.end(), [](const auto& ready) { return ready(); });
  const bool progress = satisfied != watches.end();
  watches.erase(satisfied, watches.end());
  lock.lock();
  if (!stopping_)
    watches_.insert(watches_.end(), std::move_iterator(watches.begin()), std::move_iterator(watches.end()));
  polling_ = false;
  if (progress) progress_.notify_all();
}

bool ThreadedWorkers::wait(const std::function<bool()>& done, TimePoint until) {
  for (int look = 0;; ++look) {
    if (done()) return true;
    if (clock_.now() >= until) return done();
    if (look < eager_looks) continue;
    std::unique_lock lock(mutex_);
    if (threads_.empty() && !jobs_.empty()) {  // no thread could be started
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job.run();
    } else if (threads_.empty() && !watches_.empty()) {
      poll_watches(lock);
    } else {
      progress_.wait_for(lock, watch_interval);
    }
  }
}

}  // namespace peerlane::engine

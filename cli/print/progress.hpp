#pragma once
/// A line on a terminal's stderr for what takes more than a second.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace peerlane::cli {

/// Shows what is going on and for how long, rewritten ten times a second at most. Where stderr is no terminal it does
/// nothing and starts no thread.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What goes on from now on: "hop 2 of 3: gpu:0 → gpu:1, 1 GiB".
  void say(std::string doing);

  /// Wipes the line, so that others may write to the terminal, and keeps it away while `print` runs.
  void step_aside(const std::function<void()>& print);

 private:
  void show_until_stopped(const std::stop_token& stop);
  void paint();
  void wipe();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string doing_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool painted_ = false;
  std::jthread painter_;
};

}  // namespace peerlane::cli

#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output.hpp"
#include "tables.hpp"

namespace peerlane::cli {

namespace {

constexpr auto patience = std::chrono::seconds(1);
constexpr auto between_paints = std::chrono::milliseconds(100);
constexpr std::string_view to_line_start_and_clear = "\r\x1b[K";

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

/// A line that wraps could not be wiped.
std::string cut_to(std::size_t most, std::string text) {
  while (width(text) > most) text.pop_back();
  return text;
}

}  // namespace

Progress::Progress() {
  if (::isatty(STDERR_FILENO) == 0) return;
  painter_ = std::jthread([this](const std::stop_token& stop) { show_until_stopped(stop); });
}

Progress::~Progress() {
  painter_.request_stop();
  if (painter_.joinable()) painter_.join();
  wipe();
}

void Progress::say(std::string doing) {
  const std::scoped_lock lock(mutex_);
  doing_ = std::move(doing);
}

void Progress::step_aside(const std::function<void()>& print) {
  const std::scoped_lock lock(mutex_);
  wipe();
  print();
}

void Progress::show_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto stopped = [&] { return stop.stop_requested(); };
  if (changed_.wait_for(lock, stop, patience, stopped)) return;
  do {
    paint();
  } while (!changed_.wait_for(lock, stop, between_paints, stopped));
}

void Progress::paint() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  const auto time = fmt::format("  {:.1f} s", elapsed.count());
  const auto room = terminal_width();
  const auto doing = cut_to(room > time.size() ? room - time.size() - 1 : 0, doing_);
  write_error(std::string(to_line_start_and_clear) + doing + time);
  painted_ = true;
}

void Progress::wipe() {
  if (painted_) write_error(to_line_start_and_clear);
  painted_ = false;
}

}  // namespace peerlane::cli

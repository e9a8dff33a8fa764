#pragma once
/// Time, real or invented.

#include <chrono>
#include <cstdint>

namespace peerlane {

using Nanoseconds = std::chrono::nanoseconds;
/// Nanoseconds since the clock's own beginning.
using TimePoint = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

/// The monotonic clock of this machine.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const override {
    return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
  }
};

inline double seconds(Nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}
inline Nanoseconds from_seconds(double s) {
  return Nanoseconds(static_cast<std::int64_t>(s * 1e9 + 0.5));
}

}  // namespace peerlane

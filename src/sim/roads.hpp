#pragma once
/// What carries the bytes of one operation: the links it crosses, the rate it can reach, the time before the first
/// byte.

#include <map>
#include <span>
#include <vector>

#include "machine/paths.hpp"
#include "peerlane/place.hpp"
#include "sim/timeline.hpp"

namespace peerlane::sim {

/// From a place to the next one: what a fault on a link is asked for.
struct Way {
  Place from;
  Place to;
};

struct Road {
  double fixed_s = 0;
  double ceiling = 0;  ///< bytes per second
  std::vector<machine::Segment> segments;
  std::vector<int> resources;
  std::vector<Way> ways;

  Road slowed(double factor) && {
    ceiling *= factor;
    return std::move(*this);
  }
};

/// Rates and times that were measured on two H200 (driver 580.159) and hold for every simulated machine.
namespace measured {
inline constexpr double staged_share = 0.68;       ///< what the driver's own staging makes of min(D2H, H2D)
inline constexpr double staged_fixed_s = 13e-6;    ///< 4 KiB take 15.2 µs
inline constexpr double pull_extra_s = 5.4e-6;     ///< stream on the destination: 4 KiB take 7.26 µs instead of 1.86
inline constexpr double unset_pool_share = 0.94;   ///< pool memory under EnablePeerAccess alone: 373 of 396 GB/s
inline constexpr double kernel_link_share = 0.94;  ///< kernels over NVLink: 370 to 375 of 396 GB/s
inline constexpr double kernel_fixed_s = 4e-6;
inline constexpr double pageable_in_bytes_per_s = 8.8e9;
inline constexpr double pageable_out_bytes_per_s = 17e9;
}  // namespace measured

class Roads {
 public:
  Roads(const Machine& machine, Timeline& timeline);

  Road within(int gpu) const;
  Road within_host(Place from, Place to) const;
  /// Over NVLink, else over PCIe; staged where the machine knows no such way.
  Road direct(int from_gpu, int to_gpu);
  /// Bounced through host memory by the driver.
  Road staged(int from_gpu, int to_gpu);
  Road host(int gpu, Place host_end, bool to_host);
  /// A kernel of `gpu` that reads or writes memory at `place`.
  Road kernel(int gpu, Place place, bool writes);

  double memory_rate(int gpu) const;

 private:
  struct Key {
    int kind, a, b, c;
    auto operator<=>(const Key&) const = default;
  };
  const machine::Path* path(Key key);
  Road over(const machine::Path& path, Way way) const;

  const Machine& machine_;
  std::vector<int> forward_;  // resource of each link, from a to b; the way back is the next one
  std::vector<int> memories_;
  std::map<Key, std::optional<machine::Path>> paths_;
};

}  // namespace peerlane::sim

#pragma once
/// The time of chunks that flow over hops in a row.

#include <limits>
#include <span>
#include <vector>

#include "peerlane/plan.hpp"

namespace peerlane::planner {

class Pipeline {
 public:
  explicit Pipeline(std::span<const Hop* const> hops);

  /// Never shrinks when `bytes` grows.
  double seconds(Bytes bytes, Bytes chunk) const;

 private:
  /// What one chunk asks of something that serves `servers` chunks at once: seconds between two chunks.
  struct Load {
    double fixed_s = 0;
    double s_per_byte = 0;
    int servers = 1;

    void add(double fixed, double per_byte) {
      fixed_s += fixed;
      s_per_byte += per_byte;
    }
    double seconds(Bytes bytes) const { return fixed_s + static_cast<double>(bytes) * s_per_byte; }
  };

  void load_hop(const Hop& hop);
  void load_shared_segments(std::span<const Hop* const> hops);

  Load passage_;                                            ///< of one chunk alone through every hop
  Load workers_ = {0, 0, std::numeric_limits<int>::max()};  ///< the one pool that all host-progressed hops share
  std::vector<Load> loads_;  ///< device-ordered hops, and the segments that several of them share
};

}  // namespace peerlane::planner

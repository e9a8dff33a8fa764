#pragma once
/// A plan: which road the bytes take, what it should cost, and why the better ones were closed.

#include <string>
#include <string_view>
#include <vector>

#include "peerlane/place.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

/// A cost is a value: a fixed part and a part per byte.
struct Cost {
  double fixed_s = 0;
  double bytes_per_s = 0;  ///< 0 means free of size

  double seconds(Bytes bytes) const {
    return fixed_s + (bytes_per_s > 0 ? static_cast<double>(bytes) / bytes_per_s : 0);
  }
};

/// Who moves a hop's bytes along: a CUDA stream, or one of our workers.
enum class Drive { device_ordered, host_progressed };

/// From a place to a place by one lane.
struct Hop {
  Place from;
  Place to;
  std::string_view lane;  ///< static storage: "copy engine", "pinned DMA", "CPU copy", "file"
  Drive drive = Drive::device_ordered;
  Cost cost;        ///< of one chunk, when it has its segments to itself
  std::string via;  ///< what carries it: "NVLink ×18", "PCIe 5 ×16", "2 CPU workers"
  std::vector<int>
      segments;     ///< links used, as +(link+1) from a to b and -(link+1) back; two hops that share one halve it
  int workers = 1;  ///< host_progressed: chunks carried at once, one a worker; the cost's rate is theirs together
};

/// A hop that cannot be had, and the sentence a tired person can act on.
struct Refusal {
  Place from;
  Place to;
  std::string lane;
  std::string reason;
};

/// Hops in a row. With two or more, chunks flow through a ring of `slots` at every place between.
struct Route {
  std::vector<Hop> hops;
  double share = 1;  ///< of the transfer's bytes
  Bytes chunk = 0;   ///< bytes of one step
  int slots = 0;     ///< ring slots at each place between; 0 for a single hop
  double expected_s = 0;
  double expected_bytes_per_s = 0;

  std::vector<Place> places() const;
};

struct Plan {
  Place from;
  Place to;
  std::string from_name;  ///< as printed: "gpu:0", "file:in.bin"
  std::string to_name;
  Bytes bytes = 0;
  std::vector<Route> routes;  ///< at least one
  std::vector<Route> next;    ///< runners-up, best first
  std::vector<Refusal> refused;
  double expected_s = 0;
  bool direct = true;    ///< no place between source and destination that a better machine would not need
  std::string fallback;  ///< why it is not direct, one sentence; empty when direct
  bool simulated = false;

  Drive drive() const;  ///< host_progressed if any hop is
};

/// What `peerlane plan` prints; tests compare it.
std::string to_text(const Plan& plan);
/// Schema `peerlane.plan/1`.
std::string to_json(const Plan& plan);

}  // namespace peerlane

#pragma once
/// The contract of a lane: one way to carry bytes over one hop.
///
/// A lane says which hops it offers on a machine and what they cost (pure), and carries one step when told. It never
/// chooses, never waits for another step, never allocates on the way, and never includes another lane.

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "peerlane/machine.hpp"
#include "peerlane/plan.hpp"
#include "peerlane/region.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::lanes {

using Offer = std::variant<Hop, Refusal>;

/// One chunk over one hop. Both regions have the same size.
struct Step {
  Region from;
  Region to;
};

/// "gpu:0 → host:1", where an error happened.
std::string where(const Step& step);

class Lane {
 public:
  virtual ~Lane() = default;
  virtual std::string_view name() const = 0;
  virtual Drive drive() const = 0;

  /// Does this lane carry `from` to `to` on this machine? A Hop, a Refusal with its sentence, or nothing where the lane
  /// has nothing to do with such places (a file lane between two GPUs is not refused, it is beside the point).
  /// Pure: looks at the machine only.
  virtual std::vector<Offer> offers(const Machine& machine, Place from, Place to) const = 0;

  /// Device-ordered lanes: puts the step on the stream. The stream's context is current.
  virtual Result<void> enqueue(const vendor::CudaDriver& driver, const Step& step, cu::Stream stream) const;

  /// Host-progressed lanes: moves the step's bytes now, on this thread, whole or with an error.
  virtual Result<void> run(const Step& step) const;
};

/// Every lane there is, best first. The one list.
std::span<const Lane* const> all_lanes();
const Lane* find_lane(std::string_view name);

/// Every offer of every lane between every two of these places, and within each.
std::vector<Offer> all_offers(const Machine& machine, std::span<const Place> places);

}  // namespace peerlane::lanes

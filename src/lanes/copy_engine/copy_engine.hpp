#pragma once
/// The GPU's own copy engine: to the memory of a peer, pushed from the source, and within its own memory.

#include "lanes/lane.hpp"

namespace peerlane::lanes {

class CopyEngine final : public Lane {
 public:
  std::string_view name() const override { return "copy engine"; }
  Drive drive() const override { return Drive::device_ordered; }
  std::vector<Offer> offers(const Machine& machine, Place from, Place to) const override;
  Result<void> enqueue(const vendor::CudaDriver& driver, const Step& step, cu::Stream stream) const override;
};

}  // namespace peerlane::lanes

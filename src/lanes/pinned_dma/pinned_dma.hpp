#pragma once
/// The GPU's copy engine between its memory and pinned host memory.

#include "lanes/lane.hpp"

namespace peerlane::lanes {

class PinnedDma final : public Lane {
 public:
  std::string_view name() const override { return "pinned DMA"; }
  Drive drive() const override { return Drive::device_ordered; }
  std::vector<Offer> offers(const Machine& machine, Place from, Place to) const override;
  Result<void> enqueue(const vendor::CudaDriver& driver, const Step& step, cu::Stream stream) const override;
};

}  // namespace peerlane::lanes

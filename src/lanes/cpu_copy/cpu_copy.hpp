#pragma once
/// Workers that copy between memories of the host, pinned and pageable.

#include "lanes/lane.hpp"

namespace peerlane::lanes {

class CpuCopy final : public Lane {
 public:
  std::string_view name() const override { return "CPU copy"; }
  Drive drive() const override { return Drive::host_progressed; }
  std::vector<Offer> offers(const Machine& machine, Place from, Place to) const override;
  Result<void> run(const Step& step) const override;
};

}  // namespace peerlane::lanes

#pragma once
/// Workers that read and write files at offsets, into and out of host memory.

#include "lanes/lane.hpp"

namespace peerlane::lanes {

class FileIo final : public Lane {
 public:
  std::string_view name() const override { return "file"; }
  Drive drive() const override { return Drive::host_progressed; }
  std::vector<Offer> offers(const Machine& machine, Place from, Place to) const override;
  Result<void> run(const Step& step) const override;
};

}  // namespace peerlane::lanes

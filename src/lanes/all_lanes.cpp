#include <algorithm>
#include <array>
#include <iterator>

#include "lanes/copy_engine/copy_engine.hpp"
#include "lanes/cpu_copy/cpu_copy.hpp"
#include "lanes/file_io/file_io.hpp"
#include "lanes/lane.hpp"
#include "lanes/pinned_dma/pinned_dma.hpp"

namespace peerlane::lanes {

std::span<const Lane* const> all_lanes() {
  static const CopyEngine copy_engine;
  static const PinnedDma pinned_dma;
  static const CpuCopy cpu_copy;
  static const FileIo file_io;
  static const std::array<const Lane*, 4> best_first = {&copy_engine, &pinned_dma, &cpu_copy, &file_io};
  return best_first;
}

const Lane* find_lane(std::string_view name) {
  const auto lanes = all_lanes();
  const auto found = std::ranges::find(lanes, name, &Lane::name);
  return found == lanes.end() ? nullptr : *found;
}

std::vector<Offer> all_offers(const Machine& machine, std::span<const Place> places) {
  std::vector<Offer> offers;
  for (const Lane* lane : all_lanes()) {
    for (Place from : places) {
      for (Place to : places) std::ranges::move(lane->offers(machine, from, to), std::back_inserter(offers));
    }
  }
  return offers;
}

}  // namespace peerlane::lanes

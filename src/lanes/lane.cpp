#include "lanes/lane.hpp"

#include <fmt/format.h>

namespace peerlane::lanes {

Result<void> Lane::enqueue(const vendor::CudaDriver&, const Step& step, cu::Stream) const {
  return fail(ErrorKind::unavailable,
              fmt::format("the lane \"{}\" needs a worker and cannot be put on a stream", name()), where(step));
}

Result<void> Lane::run(const Step& step) const {
  return fail(ErrorKind::unavailable,
              fmt::format("the lane \"{}\" needs a CUDA stream and cannot be run by a worker", name()), where(step));
}

std::string where(const Step& step) {
  return to_string(step.from.place) + " → " + to_string(step.to.place);
}

}  // namespace peerlane::lanes

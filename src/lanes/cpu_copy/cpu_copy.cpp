#include "lanes/cpu_copy/cpu_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lanes/cpu_copy/streaming_copy.hpp"
#include "lanes/host_places.hpp"

namespace peerlane::lanes {
namespace {

constexpr double handover_s = 5e-6;  // from one thread to a worker and back
/// Below this the destination still fits a core's own cache, and whoever reads it next is glad to find it there.
constexpr Bytes least_streamed = 256_KiB;

}  // namespace

std::vector<Offer> CpuCopy::offers(const Machine& machine, Place from, Place to) const {
  if (!is_host_memory_here(machine, from) || !is_host_memory_here(machine, to)) return {};
  const int workers = std::max(machine.host.workers, 1);
  Hop hop;
  hop.from = from;
  hop.to = to;
  hop.lane = name();
  hop.drive = drive();
  hop.cost = {handover_s, machine.host.cpu_copy_bytes_per_s * workers};
  hop.via = workers == 1 ? "1 CPU worker" : fmt::format("{} CPU workers", workers);
  hop.workers = workers;
  return {hop};
}

Result<void> CpuCopy::run(const Step& step) const {
  if (step.from.bytes >= least_streamed) {
    streaming_copy(step.to.data(), step.from.data(), step.from.bytes);
  } else if (step.from.bytes > 0) {
    std::memcpy(step.to.data(), step.from.data(), step.from.bytes);
  }
  return {};
}

}  // namespace peerlane::lanes

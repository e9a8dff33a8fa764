#include "lanes/pinned_dma/pinned_dma.hpp"

#include "lanes/host_places.hpp"
#include "machine/paths.hpp"

namespace peerlane::lanes {
namespace {

constexpr double unknown_link_bytes_per_s = 11e9;  // PCIe 3 ×16 on four V100

bool is(Place place, PlaceKind kind) {
  return place.kind == kind;
}

/// Every GPU reaches all pinned memory, so a way that discovery did not find is still there.
Hop hop_between(const Machine& machine, Place from, Place to) {
  const bool to_host = is(to, PlaceKind::host);
  const Place gpu = to_host ? from : to;
  const Place host = to_host ? to : from;
  Hop hop;
  hop.from = from;
  hop.to = to;
  hop.lane = "pinned DMA";
  const auto path = machine::host_path(machine, gpu.index, host.index, to_host);
  if (!path) {
    hop.cost = {machine::copy_engine_overhead_s, unknown_link_bytes_per_s};
    hop.via = "a link that is not known";
    return hop;
  }
  hop.cost = {machine::copy_engine_overhead_s + path->latency_s, path->bytes_per_s};
  hop.via = machine::describe(*path);
  for (machine::Segment segment : path->segments) hop.segments.push_back(segment.signed_id());
  return hop;
}

}  // namespace

std::vector<Offer> PinnedDma::offers(const Machine& machine, Place from, Place to) const {
  const bool outward = is(from, PlaceKind::gpu);
  if (outward == is(to, PlaceKind::gpu)) return {};
  const Place gpu = outward ? from : to;
  const Place other = outward ? to : from;
  if (machine.gpu(gpu.index) == nullptr) return {};
  if (is(other, PlaceKind::mem)) {
    return {Refusal{from, to, std::string(name()), "mem is pageable: a copy engine needs pinned memory"}};
  }
  if (!is_pinned_here(machine, other)) return {};
  return {hop_between(machine, from, to)};
}

Result<void> PinnedDma::enqueue(const vendor::CudaDriver& driver, const Step& step, cu::Stream stream) const {
  const bool to_host = is(step.to.place, PlaceKind::host);
  const Bytes bytes = step.from.bytes;
  const cu::Status status = to_host ? driver.cuMemcpyDtoHAsync(step.to.data(), step.from.address, bytes, stream)
                                    : driver.cuMemcpyHtoDAsync(step.to.address, step.from.data(), bytes, stream);
  if (status == cu::Status::success) [[likely]]
    return {};
  const auto call = to_host ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync";
  return tl::unexpected(vendor::driver_error(driver, status, call, where(step)));
}

}  // namespace peerlane::lanes

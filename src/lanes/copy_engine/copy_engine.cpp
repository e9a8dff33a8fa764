#include "lanes/copy_engine/copy_engine.hpp"

#include <fmt/format.h>

#include "machine/paths.hpp"

namespace peerlane::lanes {
namespace {

using machine::copy_engine_overhead_s;
using machine::Path;

constexpr double unknown_link_bytes_per_s = 10e9;  // a PCIe 3 ×16 peer copy on four V100: 9.4 to 9.8

Hop hop_between(Place from, Place to, Cost cost, std::string via) {
  Hop hop;
  hop.from = from;
  hop.to = to;
  hop.lane = "copy engine";
  hop.cost = cost;
  hop.via = std::move(via);
  return hop;
}

Hop hop_within(const Node& gpu, Place place) {
  // Every byte is read from and written to the same memory.
  return hop_between(place, place, {copy_engine_overhead_s, gpu.memory_bytes_per_s / 2}, "its own memory");
}

Hop hop_over(const Path& path, Place from, Place to) {
  const Cost cost = {copy_engine_overhead_s + path.latency_s, path.bytes_per_s};
  Hop hop = hop_between(from, to, cost, machine::describe(path));
  for (machine::Segment segment : path.segments) hop.segments.push_back(segment.signed_id());
  return hop;
}

/// The driver says yes, and its word counts more than a link that discovery did not find.
Hop hop_over_unknown_link(Place from, Place to) {
  return hop_between(from, to, {copy_engine_overhead_s, unknown_link_bytes_per_s}, "a link that is not known");
}

std::string why_pcie_is_closed(const Pair* pair, const std::optional<Path>& pcie, Place from, Place to) {
  if (pair != nullptr && pair->access == Claim::no) {
    if (!pair->why_not.empty()) return pair->why_not;
    std::string sentence = fmt::format("peer access {} → {} is not supported", to_string(from), to_string(to));
    if (pcie && pcie->crosses_sockets) sentence += ": they meet only across the socket link";
    return sentence;
  }
  return fmt::format("no PCIe way from {} to {} is known", to_string(from), to_string(to));
}

Refusal refusal(Place from, Place to, std::string reason) {
  return {from, to, "copy engine", std::move(reason)};
}

/// One sentence for both roads that a peer copy can take.
std::string both_closed(std::string pcie_sentence) {
  const bool says_it_already = pcie_sentence.find("NVLink") != std::string::npos;
  return says_it_already ? pcie_sentence : "no NVLink joins them, and over PCIe " + pcie_sentence;
}

Offer offer_between_peers(const Machine& machine, Place from, Place to) {
  const Pair* pair = machine.pair(from.index, to.index);
  const auto nvlink = machine::nvlink_path(machine, from.index, to.index);
  const auto pcie = machine::pcie_path(machine, from.index, to.index);
  const bool denied = pair != nullptr && pair->access == Claim::no;
  if (!denied && nvlink) return hop_over(*nvlink, from, to);
  if (!denied && pcie) return hop_over(*pcie, from, to);
  if (pair != nullptr && pair->access == Claim::yes) return hop_over_unknown_link(from, to);
  std::string closed = why_pcie_is_closed(pair, pcie, from, to);
  return refusal(from, to, nvlink ? std::move(closed) : both_closed(std::move(closed)));
}

}  // namespace

std::vector<Offer> CopyEngine::offers(const Machine& machine, Place from, Place to) const {
  const bool gpus = from.kind == PlaceKind::gpu && to.kind == PlaceKind::gpu;
  if (!gpus) return {};
  const Node* source = machine.gpu(from.index);
  if (source == nullptr || machine.gpu(to.index) == nullptr) return {};
  if (from == to) return {hop_within(*source, from)};
  return {offer_between_peers(machine, from, to)};
}

Result<void> CopyEngine::enqueue(const vendor::CudaDriver& driver, const Step& step, cu::Stream stream) const {
  const cu::Status status = driver.cuMemcpyDtoDAsync(step.to.address, step.from.address, step.from.bytes, stream);
  if (status == cu::Status::success) [[likely]]
    return {};
  return tl::unexpected(vendor::driver_error(driver, status, "cuMemcpyDtoDAsync", where(step)));
}

}  // namespace peerlane::lanes

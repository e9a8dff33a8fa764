#include "lanes/copy_engine/copy_engine.hpp"

#include <fmt/format.h>

#include "machine/paths.hpp"

namespace peerlane::lanes {
namespace {

using machine::copy_engine_overhead_s;
using machine::Path;

constexpr double unknown_memory_bytes_per_s = 200e9;  // the slowest GDDR6 cards
constexpr double unknown_link_bytes_per_s = 10e9;     // a PCIe 3 ×16 peer copy on four V100: 9.4 to 9.8

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
  const double memory = gpu.memory_bytes_per_s > 0 ? gpu.memory_bytes_per_s : unknown_memory_bytes_per_s;
  // Every byte is read from and written to the same memory.
  return hop_between(place, place, {copy_engine_overhead_s, memory / 2}, "its own memory");
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

std::string why_denied(const Pair* pair, const std::optional<Path>& pcie, Place from, Place to) {
  if (pair != nullptr && pair->access != Claim::yes && !pair->why_not.empty()) return pair->why_not;
  if (pair != nullptr && pair->access == Claim::no) {
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
  return says_it_already ? pcie_sentence : "no NVLink joins them, and PCIe is closed: " + pcie_sentence;
}

std::string why_closed(const Machine& machine, const Pair* pair, Place from, Place to) {
  const auto pcie = machine::pcie_path(machine, from.index, to.index);
  std::string sentence = why_denied(pair, pcie, from, to);
  const bool has_nvlink = machine::nvlink_path(machine, from.index, to.index).has_value();
  return has_nvlink ? sentence : both_closed(std::move(sentence));
}

Offer offer_between_peers(const Machine& machine, Place from, Place to) {
  const Pair* pair = machine.pair(from.index, to.index);
  const Claim access = pair == nullptr ? Claim::unknown : pair->access;
  // A description that cannot tell says so in words; a road that nobody vouches for is not planned on.
  const bool nobody_vouches = access == Claim::unknown && pair != nullptr && !pair->why_not.empty();
  if (access == Claim::no || nobody_vouches) return refusal(from, to, why_closed(machine, pair, from, to));
  if (const auto nvlink = machine::nvlink_path(machine, from.index, to.index)) return hop_over(*nvlink, from, to);
  if (const auto pcie = machine::pcie_path(machine, from.index, to.index)) return hop_over(*pcie, from, to);
  if (access == Claim::yes) return hop_over_unknown_link(from, to);
  return refusal(from, to, why_closed(machine, pair, from, to));
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

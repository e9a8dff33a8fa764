#include "sim/roads.hpp"

#include <algorithm>

namespace peerlane::sim {
namespace {

using machine::copy_engine_overhead_s;

constexpr double unknown_memory_bytes_per_s = 1e12;
constexpr double unknown_link_bytes_per_s = 10e9;
enum PathKind { nvlink, pcie, to_host, from_host };

}  // namespace

Roads::Roads(const Machine& machine, Timeline& timeline) : machine_(machine) {
  for (const Link& link : machine.links) {
    forward_.push_back(timeline.add_resource(link.bytes_per_s));
    timeline.add_resource(link.bytes_per_s);
  }
  for (int gpu = 0; gpu < machine.gpu_count(); ++gpu) memories_.push_back(timeline.add_resource(memory_rate(gpu) / 2));
}

double Roads::memory_rate(int gpu) const {
  const Node* node = machine_.gpu(gpu);
  return node != nullptr && node->memory_bytes_per_s > 0 ? node->memory_bytes_per_s : unknown_memory_bytes_per_s;
}

const machine::Path* Roads::path(Key key) {
  auto known = paths_.find(key);
  if (known == paths_.end()) {
    std::optional<machine::Path> found;
    if (key.kind == nvlink) found = machine::nvlink_path(machine_, key.a, key.b);
    if (key.kind == pcie) found = machine::pcie_path(machine_, key.a, key.b);
    if (key.kind == to_host || key.kind == from_host) {
      found = machine::host_path(machine_, key.a, key.b, key.kind == to_host);
    }
    known = paths_.emplace(key, std::move(found)).first;
  }
  return known->second ? &*known->second : nullptr;
}

Road Roads::over(const machine::Path& path, Way way) const {
  Road road;
  road.fixed_s = copy_engine_overhead_s + path.latency_s;
  road.ceiling = path.bytes_per_s;
  road.segments = path.segments;
  for (const machine::Segment& segment : path.segments) {
    road.resources.push_back(forward_[segment.link] + (segment.forward ? 0 : 1));
  }
  road.ways = {way};
  return road;
}

Road Roads::within(int gpu) const {
  const Place place = peerlane::gpu(gpu);
  return {copy_engine_overhead_s, memory_rate(gpu) / 2, {}, {memories_[gpu]}, {{place, place}}};
}

Road Roads::within_host(Place from, Place to) const {
  return {copy_engine_overhead_s, machine_.host.cpu_copy_bytes_per_s, {}, {}, {{from, to}}};
}

Road Roads::direct(int from_gpu, int to_gpu) {
  const Way way{peerlane::gpu(from_gpu), peerlane::gpu(to_gpu)};
  if (const machine::Path* found = path({nvlink, from_gpu, to_gpu, 0})) return over(*found, way);
  if (const machine::Path* found = path({pcie, from_gpu, to_gpu, 0})) return over(*found, way);
  return {copy_engine_overhead_s, unknown_link_bytes_per_s, {}, {}, {way}};
}

Road Roads::staged(int from_gpu, int to_gpu) {
  const Place between = peerlane::host(machine::nearest_numa(machine_, from_gpu));
  Road out = host(from_gpu, between, true);
  const Road in = host(to_gpu, between, false);
  out.fixed_s = measured::staged_fixed_s;
  out.ceiling = measured::staged_share * std::min(out.ceiling, in.ceiling);
  out.segments.insert(out.segments.end(), in.segments.begin(), in.segments.end());
  for (const int resource : in.resources) {
    if (std::ranges::find(out.resources, resource) == out.resources.end()) out.resources.push_back(resource);
  }
  out.ways.push_back(in.ways.front());
  return out;
}

Road Roads::host(int gpu, Place host_end, bool to_host_end) {
  const Place device = peerlane::gpu(gpu);
  const Way way = to_host_end ? Way{device, host_end} : Way{host_end, device};
  const int node = host_end.kind == PlaceKind::host ? host_end.index : Place::any;
  const machine::Path* found = path({to_host_end ? to_host : from_host, gpu, node, 0});
  if (found == nullptr) return {copy_engine_overhead_s, unknown_link_bytes_per_s, {}, {}, {way}};
  return over(*found, way);
}

Road Roads::kernel(int gpu, Place place, bool writes) {
  Road road;
  if (place == peerlane::gpu(gpu)) {
    road = {0, memory_rate(gpu), {}, {}, {{place, place}}};
  } else if (place.kind == PlaceKind::gpu) {
    road = writes ? direct(gpu, place.index) : direct(place.index, gpu);
    road.ceiling *= measured::kernel_link_share;
  } else {
    road = host(gpu, place, writes);
  }
  road.fixed_s = measured::kernel_fixed_s;
  return road;
}

}  // namespace peerlane::sim

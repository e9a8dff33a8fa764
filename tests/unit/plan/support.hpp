#pragma once
/// Machines made by hand, and plans on presets.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lanes/lane.hpp"
#include "machine/paths.hpp"
#include "plan/planner.hpp"

namespace peerlane::planner {

inline Hop hop(Place from, Place to, double bytes_per_s, double fixed_s = 0, std::vector<int> segments = {}) {
  Hop hop;
  hop.from = from;
  hop.to = to;
  hop.lane = "copy engine";
  hop.cost = {fixed_s, bytes_per_s};
  hop.via = "a wire";
  hop.segments = std::move(segments);
  return hop;
}

inline Hop worked_hop(Place from, Place to, double bytes_per_s, int workers, double fixed_s = 0) {
  Hop worked = hop(from, to, bytes_per_s, fixed_s);
  worked.lane = "CPU copy";
  worked.drive = Drive::host_progressed;
  worked.workers = workers;
  return worked;
}

inline Machine machine_with(int gpus, int numa_nodes) {
  Machine machine;
  machine.name = "hand-made";
  const auto add = [&](NodeKind kind, int index) {
    Node& node = machine.nodes.emplace_back();
    node.kind = kind;
    node.index = index;
  };
  for (int i = 0; i < gpus; ++i) add(NodeKind::gpu, i);
  for (int i = 0; i < numa_nodes; ++i) add(NodeKind::numa, i);
  return machine;
}

inline Hops offered_on(const Machine& machine) {
  Hops hops;
  for (lanes::Offer& offer : lanes::all_offers(machine, places(machine))) {
    if (auto* hop = std::get_if<Hop>(&offer)) hops.hops.push_back(std::move(*hop));
    if (auto* refusal = std::get_if<Refusal>(&offer)) hops.refused.push_back(std::move(*refusal));
  }
  return hops;
}

inline Request request(Place from, Place to, Bytes bytes) {
  return {.from = from, .to = to, .from_name = {}, .to_name = {}, .bytes = bytes};
}

/// `from` and `to` as a person types them.
inline Result<Plan> plan_on(std::string_view preset_name, std::string_view from, std::string_view to, Bytes bytes) {
  const Machine machine = preset(preset_name).value();
  Request request;
  request.from = parse_place(from).value().place;
  request.to = parse_place(to).value().place;
  request.from_name = from;
  request.to_name = to;
  request.bytes = bytes;
  return make_plan(machine, offered_on(machine), request);
}

}  // namespace peerlane::planner

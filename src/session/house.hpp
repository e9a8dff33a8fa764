#pragma once
/// All rooms, wired. The only place that knows them all.

#include <map>
#include <memory>
#include <mutex>

#include "engine/engine.hpp"
#include "engine/threaded_workers.hpp"
#include "memory/file.hpp"
#include "peerlane/session.hpp"
#include "plan/planner.hpp"
#include "session/short_ways.hpp"
#include "sim/simulation.hpp"

namespace peerlane {

struct Session::House {
  Options options;
  Machine machine;
  std::shared_ptr<sim::Simulation> simulation;  // kept by buffers too, through the contexts
  const vendor::CudaDriver* driver = nullptr;
  SteadyClock steady;
  const Clock* clock = &steady;
  planner::Hops hops;
  session::ShortWays short_ways;

  // In the order they are built; the engine goes first and waits for what is in flight.
  std::shared_ptr<memory::Contexts> contexts;
  std::shared_ptr<memory::Memory> memory;
  std::unique_ptr<engine::ThreadedWorkers> threads;
  std::mutex files_mutex;
  std::map<File*, std::unique_ptr<File>> files;
  std::unique_ptr<engine::Rooms> rooms;
  std::unique_ptr<engine::Engine> engine;

  House() = default;
  ~House();
  Result<void> take_this_machine();
  Result<void> simulate(Machine described);
  void learn_hops();
  void furnish();

  Nanoseconds patience(Nanoseconds asked) const { return asked > Nanoseconds::zero() ? asked : options.deadline; }
  TimePoint deadline(Nanoseconds asked) const;
  Region keep(std::unique_ptr<File> file, Bytes bytes);
  Result<Plan> make_plan(const Region& from, const Region& to) const;
  Result<Plan> make_plan(planner::Request request) const;
  const engine::ShortWay* short_way(const Region& from, const Region& to);
  std::unique_ptr<engine::ShortWay> make_short_way(Place from, Place to, Bytes least, Bytes most);
};

}  // namespace peerlane

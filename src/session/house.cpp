#include "session/house.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "discover/discover.hpp"
#include "lanes/lane.hpp"
#include "vendor/host_pages.hpp"

namespace peerlane {

namespace {

/// Stands where there is no CUDA driver: host memory and files still move.
const vendor::CudaDriver& driverless() {
  static const vendor::CudaDriver table = [] {
    vendor::CudaDriver driver;
    driver.host_pages = &vendor::host_pages;
    driver.free_host_pages = &vendor::free_host_pages;
    driver.loaded_from = "nothing";
    return driver;
  }();
  return table;
}

std::vector<Place> all_places(const Machine& machine) {
  std::vector<Place> places{mem(), file(), host()};
  for (int i = 0; i < machine.gpu_count(); ++i) places.push_back(gpu(i));
  for (int node : machine.numa_nodes()) places.push_back(host(node));
  return places;
}

std::string name_of(const Region& region) {
  return region.file != nullptr ? "file:" + region.file->path() : to_string(region.place);
}

}  // namespace

/// The engine waits for what is in flight; then the threads end, before the rooms that their jobs work in.
Session::House::~House() {
  engine.reset();
  threads.reset();
}

Result<void> Session::House::take_this_machine() {
  if (!options.faults.empty()) {
    return fail(ErrorKind::invalid_argument, "faults are for simulated machines, and this one is real",
                options.faults.front(), "name a machine, a preset for example");
  }
  auto loaded = vendor::load_cuda();
  driver = loaded ? *loaded : &driverless();
  discover::Settings settings;
  settings.helper = options.helper;
  machine = discover::this_machine(loaded ? *loaded : nullptr, loaded ? "" : loaded.error().message(), settings);
  return {};
}

Result<void> Session::House::simulate(Machine described) {
  machine = std::move(described);
  machine.live = false;
  simulation = PEERLANE_TRY(sim::Simulation::start(machine, {options.seed}));
  for (const std::string& fault : options.faults) PEERLANE_TRY(simulation->add_fault(fault));
  driver = &simulation->driver();
  clock = &simulation->clock();
  return {};
}

void Session::House::learn_hops() {
  const auto places = all_places(machine);
  for (auto& offer : lanes::all_offers(machine, places)) {
    if (auto* hop = std::get_if<Hop>(&offer)) {
      hops.hops.push_back(std::move(*hop));
    } else {
      hops.refused.push_back(std::move(std::get<Refusal>(offer)));
    }
  }
}

void Session::House::furnish() {
  if (simulation == nullptr || options.threaded) {
    threads = std::make_unique<engine::ThreadedWorkers>(*clock, machine.host.workers);
  }
  Workers& workers = threads != nullptr ? static_cast<Workers&>(*threads) : simulation->workers();
  const auto keeps_simulation = [kept = simulation](auto* room) { delete room; };
  contexts = std::shared_ptr<memory::Contexts>(new memory::Contexts(*driver, machine.gpu_count()), keeps_simulation);
  memory = std::make_shared<memory::Memory>(contexts, machine);
  rooms = std::make_unique<engine::Rooms>(*clock, workers, memory, contexts);
  engine = std::make_unique<engine::Engine>(*rooms);
}

TimePoint Session::House::deadline(Nanoseconds asked) const {
  const Nanoseconds span = patience(asked);
  const TimePoint now = clock->now();
  return span > TimePoint::max() - now ? TimePoint::max() : now + span;
}

Region Session::House::keep(std::unique_ptr<File> file, Bytes bytes) {
  const Region region{peerlane::file(), 0, bytes, file.get()};
  std::lock_guard lock(files_mutex);
  files.emplace(file.get(), std::move(file));
  return region;
}

Result<Plan> Session::House::make_plan(const Region& from, const Region& to) const {
  return make_plan(planner::Request{from.place, to.place, name_of(from), name_of(to), from.bytes});
}

Result<Plan> Session::House::make_plan(planner::Request request) const {
  request.staging = options.staging;
  Plan plan = PEERLANE_TRY(planner::make_plan(machine, hops, request));
  plan.simulated = simulation != nullptr;
  return plan;
}

const engine::ShortWay* Session::House::short_way(const Region& from, const Region& to) {
  if (const auto* way = short_ways.find(from.place, to.place, from.bytes)) [[likely]]
    return way;
  return short_ways.learn(from.place, to.place, from.bytes,
                          [&](Bytes least, Bytes most) { return make_short_way(from.place, to.place, least, most); });
}

std::unique_ptr<engine::ShortWay> Session::House::make_short_way(Place from, Place to, Bytes least, Bytes most) {
  if (from.kind == PlaceKind::file || to.kind == PlaceKind::file) return nullptr;
  auto small = make_plan(planner::Request{from, to, to_string(from), to_string(to), least});
  auto large = make_plan(planner::Request{from, to, to_string(from), to_string(to), most});
  if (!small || !large) return nullptr;  // the long way will say why
  const auto short_road = [](const Plan& plan) {
    return plan.routes.size() == 1 && plan.routes[0].hops.size() == 1 && plan.drive() == Drive::device_ordered;
  };
  if (!short_road(*small) || !short_road(*large)) return nullptr;
  const Hop& hop = large->routes[0].hops[0];
  auto way = std::make_unique<engine::ShortWay>();
  way->lane = lanes::find_lane(hop.lane);
  way->gpu = engine::driving_gpu(hop);
  for (auto [place, context] : {std::pair{from, &way->from_context}, std::pair{to, &way->to_context}}) {
    if (place.kind != PlaceKind::gpu) continue;
    auto retained = contexts->context(place.index);
    if (!retained) return nullptr;
    *context = *retained;
  }
  if (from.kind == PlaceKind::gpu && to.kind == PlaceKind::gpu && from != to &&
      !rooms->access.open(from.index, to.index)) {
    return nullptr;
  }
  way->plan = std::move(*large);
  return way;
}

}  // namespace peerlane

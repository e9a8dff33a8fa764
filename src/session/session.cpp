#include "peerlane/session.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "engine/digester.hpp"
#include "session/house.hpp"

namespace peerlane {

namespace {

bool overlap(const Region& a, const Region& b) {
  const bool same_space = a.place.kind == PlaceKind::file || b.place.kind == PlaceKind::file
                              ? a.file == b.file
                              : true;  // one address space for all memory
  return same_space && a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

Result<void> check_ends(const Region& from, const Region& to) {
  if (from.bytes != to.bytes) {
    return fail(ErrorKind::invalid_argument,
                "source and destination differ in size: " + std::to_string(from.bytes) + " and " +
                    std::to_string(to.bytes) + " bytes",
                to_string(from.place) + " → " + to_string(to.place));
  }
  if (overlap(from, to)) {
    return fail(ErrorKind::invalid_argument, "source and destination overlap",
                to_string(from.place) + " → " + to_string(to.place), "copy through a buffer of your own");
  }
  return {};
}

Result<void> check_strict(const Plan& plan, bool strict) {
  if (!strict || plan.direct) return {};
  return fail(ErrorKind::unavailable, plan.fallback, plan.from_name + " → " + plan.to_name,
              "without strict the fallback is taken, and said");
}

}  // namespace

Session::Session(std::unique_ptr<House> house) : house_(std::move(house)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(Options options) {
  auto house = std::make_unique<House>();
  house->options = std::move(options);
  const std::string& machine = house->options.machine;
  PEERLANE_TRY(machine.empty() ? house->take_this_machine() : house->simulate(PEERLANE_TRY(load_machine(machine))));
  house->learn_hops();
  house->furnish();
  return Session(std::move(house));
}

Result<Session> Session::open(Machine machine, Options options) {
  auto house = std::make_unique<House>();
  house->options = std::move(options);
  PEERLANE_TRY(house->simulate(std::move(machine)));
  house->learn_hops();
  house->furnish();
  return Session(std::move(house));
}

const Machine& Session::machine() const {
  return house_->machine;
}
bool Session::simulated() const {
  return house_->simulation != nullptr;
}
const vendor::CudaDriver& Session::driver() const {
  return *house_->driver;
}
std::shared_ptr<sim::Simulation> Session::simulation() const {
  return house_->simulation;
}

Result<Buffer> Session::allocate(Place place, Bytes bytes) {
  return house_->memory->allocate(place, bytes);
}
Result<Region> Session::region(void* pointer, Bytes bytes) {
  return house_->memory->origin(pointer, bytes);
}

Result<Region> Session::open_source(const std::string& path) {
  auto file = PEERLANE_TRY(File::open_source(path));
  const Bytes bytes = file->size();
  return house_->keep(std::move(file), bytes);
}

Result<Region> Session::open_target(const std::string& path, Bytes bytes) {
  return house_->keep(PEERLANE_TRY(File::open_target(path, bytes)), bytes);
}

Result<void> Session::commit(const Region& target, bool durable) {
  std::lock_guard lock(house_->files_mutex);
  if (!house_->files.contains(target.file)) {
    return fail(ErrorKind::invalid_argument, "this region is no open file of the session", to_string(target.place));
  }
  return target.file->commit(durable);
}

void Session::close(const Region& region) {
  std::lock_guard lock(house_->files_mutex);
  house_->files.erase(region.file);
}

Result<Plan> Session::plan(const Region& from, const Region& to) const {
  PEERLANE_TRY(check_ends(from, to));
  return house_->make_plan(from, to);
}

Result<Plan> Session::plan(Place from, Place to, Bytes bytes) const {
  return house_->make_plan(planner::Request{from, to, to_string(from), to_string(to), bytes});
}

Result<Transfer> Session::copy(const Region& from, const Region& to, const CopyOptions& options) {
  House& house = *house_;
  if (from.bytes != to.bytes || overlap(from, to)) [[unlikely]]
    return tl::unexpected(check_ends(from, to).error());
  const auto stream = static_cast<cu::Stream>(options.stream);
  if (stream != nullptr && !options.timed && !options.verify) {
    if (const engine::ShortWay* way = house.short_way(from, to)) {
      return house.engine->submit_short(*way, from, to, stream, house.patience(options.deadline));
    }
  }
  engine::Request request{from, to, stream, house.deadline(options.deadline)};
  request.timed = options.timed;
  request.verify = options.verify;
  request.durable = options.durable;
  const Plan plan = PEERLANE_TRY(house.make_plan(from, to));
  PEERLANE_TRY(check_strict(plan, options.strict || house.options.strict));
  return house.engine->submit(plan, request);
}

Result<std::uint64_t> Session::digest(const Region& region) {
  return engine::Digester(*house_->rooms).digest(region, house_->deadline({}));
}

Result<void> Session::fill(const Region& region, std::uint64_t seed) {
  return engine::Digester(*house_->rooms).fill(region, seed, house_->deadline({}));
}

Result<PeerAccess> Session::allow(Place reader, Place owner) {
  for (Place place : {reader, owner}) {
    if (place.kind != PlaceKind::gpu || house_->machine.gpu(place.index) == nullptr) {
      return fail(ErrorKind::invalid_argument, "peer access is between two GPUs of this machine", to_string(place));
    }
  }
  if (reader == owner)
    return fail(ErrorKind::invalid_argument, "a GPU always reaches its own memory", to_string(reader));
  return PeerAccess(PEERLANE_TRY(house_->rooms->peers->allow(reader.index, owner.index)));
}

Bytes Session::leased() const {
  house_->engine->sweep();
  return house_->memory->leases().held();
}

}  // namespace peerlane

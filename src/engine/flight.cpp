#include "engine/flight.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace peerlane::engine {

namespace {

ReceiptRoute receipt_route(const Route& route, Bytes bytes) {
  ReceiptRoute out{{}, route.places(), bytes};
  for (const Hop& hop : route.hops) out.lanes.emplace_back(hop.lane);
  return out;
}

}  // namespace

int driving_gpu(const Hop& hop) {
  return hop.from.kind == PlaceKind::gpu ? hop.from.index : hop.to.index;
}

Flight::Flight(Rooms& the_rooms, const Plan& plan, const Request& the_request)
    : rooms(the_rooms), route(plan.routes.front()), request(the_request) {
  receipt.from = plan.from;
  receipt.to = plan.to;
  receipt.from_name = plan.from_name;
  receipt.to_name = plan.to_name;
  receipt.bytes = request.from.bytes;
  receipt.expected_seconds = plan.expected_s;
  receipt.routes.push_back(receipt_route(route, request.from.bytes));
  receipt.fallback = plan.fallback;
  receipt.simulated = plan.simulated;
  leases_.push_back(rooms.memory->leases().hold(request.from));
  leases_.push_back(rooms.memory->leases().hold(request.to));
}

TransferState Flight::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

bool Flight::final() const {
  return state() >= TransferState::done;
}

bool Flight::lost() const {
  std::lock_guard lock(mutex_);
  return failure_ && failure_->kind == ErrorKind::device_lost;
}

void Flight::set_running() {
  std::lock_guard lock(mutex_);
  if (state_ == TransferState::queued) state_ = TransferState::running;
}

void Flight::begin_draining(Error why) {
  std::lock_guard lock(mutex_);
  if (state_ >= TransferState::done) return;
  if (!failure_) failure_ = std::move(why);
  state_ = TransferState::draining;
}

void Flight::expire() {
  begin_draining({ErrorKind::timeout,
                  "the deadline passed before the copy was over; what an engine still holds stays leased",
                  receipt.from_name + " → " + receipt.to_name, "", 0});
}

void Flight::finish() {
  for (auto& ring : rings_) rooms.staging.give_back(std::move(ring));
  for (const auto& borrowed : streams_) rooms.streams.give_back(borrowed.gpu, borrowed.stream);
  for (const auto& borrowed : events_) {
    (borrowed.timing ? rooms.timing_events : rooms.events).give_back(borrowed.gpu, borrowed.event);
  }
  for (auto ticket : leases_) rooms.memory->leases().end(ticket);
  rings_.clear();
  streams_.clear();
  events_.clear();
  leases_.clear();
  std::lock_guard lock(mutex_);
  if (!failure_) {
    state_ = TransferState::done;
  } else {
    state_ = failure_->kind == ErrorKind::cancelled ? TransferState::cancelled : TransferState::failed;
  }
}

Result<Receipt> Flight::answer() const {
  std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected(*failure_);
  return receipt;
}

std::vector<int> Flight::gpus() const {
  std::vector<int> out;
  for (Place place : route.places()) {
    if (place.kind == PlaceKind::gpu) out.push_back(place.index);
  }
  return out;
}

Result<cu::Stream> Flight::borrow_stream(int gpu) {
  const cu::Stream stream = PEERLANE_TRY(rooms.streams.borrow(gpu));
  streams_.push_back({gpu, stream});
  return stream;
}

Result<cu::Event> Flight::borrow_event(int gpu, bool timing) {
  const cu::Event event = PEERLANE_TRY((timing ? rooms.timing_events : rooms.events).borrow(gpu));
  events_.push_back({gpu, event, timing});
  return event;
}

Result<void> Flight::borrow_rings() {
  chunk_ = route.chunk;
  for (std::size_t i = 0; i + 1 < route.hops.size(); ++i) {
    rings_.push_back(PEERLANE_TRY(rooms.staging.borrow(route.hops[i].to, route.chunk, route.slots)));
    leases_.push_back(rooms.memory->leases().hold(rings_.back().region()));
    chunk_ = std::min(chunk_, rings_.back().slot_bytes());
  }
  return {};
}

Result<void> Flight::open_peer_access() {
  for (const Hop& hop : route.hops) {
    if (hop.from.kind != PlaceKind::gpu || hop.to.kind != PlaceKind::gpu || hop.from == hop.to) continue;
    PEERLANE_TRY(rooms.access.open(hop.from.index, hop.to.index));
  }
  return {};
}

bool Flight::quiet(int gpu, cu::Status status) {
  if (status == cu::Status::not_ready) return false;
  if (status == cu::Status::success) return true;
  Error error = vendor::driver_error(rooms.driver(), status, "cuEventQuery", to_string(peerlane::gpu(gpu)));
  const bool dead = error.kind == ErrorKind::device_lost;
  if (dead) rooms.contexts->abandon(gpu);
  begin_draining(std::move(error));
  return dead;
}

cu::Status Flight::query(cu::Context context, cu::Stream stream) const {
  const vendor::ContextScope scope(rooms.driver(), context);
  return scope.status() == cu::Status::success ? rooms.driver().cuStreamQuery(stream) : scope.status();
}

}  // namespace peerlane::engine

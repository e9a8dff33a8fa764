#include "peerlane/transfer.hpp"

#include <algorithm>

#include "engine/engine.hpp"

namespace peerlane {

std::string_view to_string(TransferState state) {
  switch (state) {
    case TransferState::queued:
      return "queued";
    case TransferState::running:
      return "running";
    case TransferState::draining:
      return "draining";
    case TransferState::done:
      return "done";
    case TransferState::failed:
      return "failed";
    case TransferState::cancelled:
      return "cancelled";
  }
  return "unknown";
}

namespace {
const engine::ShortWay& way_of(const void* route) {
  return *static_cast<const engine::ShortWay*>(route);
}

Result<Receipt> nothing_to_wait_for() {
  return fail(ErrorKind::invalid_argument, "this handle holds no transfer: it was never filled, or moved from");
}
}  // namespace

Transfer::Transfer(Transfer&& other) noexcept : light_(other.light_), flight_(std::move(other.flight_)) {
  other.light_ = {};
}

Transfer& Transfer::operator=(Transfer&& other) noexcept {
  if (this != &other) {
    light_ = other.light_;
    flight_ = std::move(other.flight_);
    other.light_ = {};
  }
  return *this;
}

Transfer::~Transfer() = default;

TransferState Transfer::state() const {
  if (flight_ != nullptr) {
    flight_->poll();
    return flight_->state();
  }
  if (light_.engine == nullptr) return TransferState::queued;
  return light_.engine->state_short(way_of(light_.route), static_cast<cu::Stream>(light_.stream));
}

Result<Receipt> Transfer::wait() {
  return wait_for(std::chrono::nanoseconds::max());
}

Result<Receipt> Transfer::wait_for(std::chrono::nanoseconds patience) {
  if (flight_ != nullptr) {
    const TimePoint now = flight_->rooms.clock.now();
    return flight_->engine->wait(*flight_, patience > TimePoint::max() - now ? TimePoint::max() : now + patience);
  }
  if (light_.engine == nullptr) return nothing_to_wait_for();
  return light_.engine->wait_short(way_of(light_.route), static_cast<cu::Stream>(light_.stream), light_.bytes,
                                   std::min(patience, std::chrono::nanoseconds(light_.patience_ns)));
}

void Transfer::cancel() {
  if (flight_ != nullptr) flight_->cancel();  // on the caller's own stream nothing can be taken back
}

}  // namespace peerlane

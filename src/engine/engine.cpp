#include "engine/engine.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "engine/digester.hpp"

namespace peerlane::engine {

namespace {
/// After its deadline a flight that is not stuck still has the chunks under way to finish.
constexpr Nanoseconds grace = std::chrono::milliseconds(100);
}  // namespace

Engine::~Engine() {
  std::vector<std::shared_ptr<Flight>> flights;
  {
    std::lock_guard lock(mutex_);
    flights.swap(flights_);
  }
  for (const auto& flight : flights) {
    const auto over = [&] { return flight->poll(); };
    if (rooms_.workers.wait([&] { return over() || flight->lost(); }, flight->request.deadline) && flight->final())
      continue;
    flight->expire();
    if (!rooms_.workers.wait(over, rooms_.clock.now() + grace)) abandon(*flight);
  }
}

void Engine::abandon(const Flight& flight) {
  for (int gpu : flight.gpus()) rooms_.contexts->abandon(gpu);
  rooms_.memory->leases().never_give_back();
}

Result<Transfer> Engine::submit(const Plan& plan, const Request& request) {
  sweep();
  auto flight = plan.drive() == Drive::device_ordered ? make_device_flight(rooms_, plan, request)
                                                      : make_host_flight(rooms_, plan, request);
  flight->engine = this;
  {
    std::lock_guard lock(mutex_);
    flights_.push_back(flight);
  }
  auto launched = flight->launch();
  if (!launched) {
    rooms_.workers.wait([&] { return flight->poll() || flight->lost(); }, request.deadline);
    return tl::unexpected(launched.error());
  }
  return Transfer(std::move(flight));
}

void Engine::sweep() {
  std::lock_guard lock(mutex_);
  std::erase_if(flights_, [](const auto& flight) { return flight->poll(); });
}

Result<Receipt> Engine::wait(Flight& flight, TimePoint until) {
  const TimePoint limit = std::min(until, flight.request.deadline);
  if (!rooms_.workers.wait([&] { return flight.poll() || flight.lost(); }, limit)) {
    if (limit == flight.request.deadline) {
      flight.expire();
      flight.poll();
    }
    return fail(ErrorKind::timeout, "not over yet when the wait's time had passed; its memory stays leased until it is",
                flight.receipt.from_name + " → " + flight.receipt.to_name);
  }
  auto receipt = PEERLANE_TRY(flight.answer());
  if (!flight.request.verify) return receipt;
  Digester digester(rooms_);
  const std::uint64_t sent = PEERLANE_TRY(digester.digest(flight.request.from, flight.request.deadline));
  const std::uint64_t arrived = PEERLANE_TRY(digester.digest(flight.request.to, flight.request.deadline));
  if (sent != arrived) {
    return fail(ErrorKind::data_mismatch, "the bytes that arrived are not the bytes that were sent",
                receipt.from_name + " → " + receipt.to_name, "run `peerlane verify` on this pair");
  }
  receipt.verified = true;
  return receipt;
}

Result<Transfer> Engine::submit_short(const ShortWay& way, const Region& from, const Region& to, cu::Stream stream,
                                      Nanoseconds patience) {
  const vendor::CudaDriver& driver = rooms_.driver();
  const lanes::Step step{from, to};
  cu::Context current = nullptr;
  driver.cuCtxGetCurrent(&current);
  if (current != nullptr && (current == way.from_context || current == way.to_context)) [[likely]] {
    PEERLANE_TRY(way.lane->enqueue(driver, step, stream));
  } else {
    cu::Context streams = nullptr;
    PEERLANE_TRY(vendor::check(driver, driver.cuStreamGetCtx(stream, &streams), "cuStreamGetCtx", "stream"));
    vendor::ContextScope scope(driver, streams);
    PEERLANE_TRY(vendor::check(driver, scope.status(), "cuCtxPushCurrent", "stream"));
    PEERLANE_TRY(way.lane->enqueue(driver, step, stream));
  }
  Transfer transfer;
  transfer.light_ = {this, stream, &way, from.bytes, patience.count()};
  return transfer;
}

TransferState Engine::state_short(const ShortWay& way, cu::Stream stream) {
  vendor::ContextScope scope(rooms_.driver(), way.from_context != nullptr ? way.from_context : way.to_context);
  switch (rooms_.driver().cuStreamQuery(stream)) {
    case cu::Status::success:
      return TransferState::done;
    case cu::Status::not_ready:
      return TransferState::running;
    default:
      return TransferState::failed;
  }
}

Result<Receipt> Engine::wait_short(const ShortWay& way, cu::Stream stream, Bytes bytes, Nanoseconds patience) {
  const TimePoint now = rooms_.clock.now();
  const TimePoint until = patience > TimePoint::max() - now ? TimePoint::max() : now + patience;
  const vendor::CudaDriver& driver = rooms_.driver();
  const std::string where = way.plan.from_name + " → " + way.plan.to_name;
  cu::Status status = cu::Status::not_ready;
  const bool over = rooms_.workers.wait(
      [&] {
        vendor::ContextScope scope(driver, way.from_context != nullptr ? way.from_context : way.to_context);
        status = driver.cuStreamQuery(stream);
        return status != cu::Status::not_ready;
      },
      until);
  if (!over) return fail(ErrorKind::timeout, "the caller's stream was not done when the time had passed", where);
  if (auto ended = vendor::check(driver, status, "cuStreamQuery", where); !ended) {
    if (ended.error().kind == ErrorKind::device_lost) rooms_.contexts->abandon(way.gpu);
    return tl::unexpected(ended.error());
  }
  Receipt receipt;
  const Route& route = way.plan.routes.front();
  receipt.from = way.plan.from;
  receipt.to = way.plan.to;
  receipt.from_name = way.plan.from_name;
  receipt.to_name = way.plan.to_name;
  receipt.bytes = bytes;
  receipt.expected_seconds = route.hops.front().cost.seconds(bytes);
  receipt.routes.push_back({{std::string(way.lane->name())}, route.places(), bytes});
  receipt.fallback = way.plan.fallback;
  receipt.simulated = way.plan.simulated;
  return receipt;
}

}  // namespace peerlane::engine

#include "base/try.hpp"
#include "engine/flight.hpp"
#include "lanes/lane.hpp"

namespace peerlane::engine {

namespace {

using vendor::check;
using vendor::ContextScope;

/// Chunks flow hop by hop; every dependency is an event, so the host enqueues all of it and goes away.
class DeviceFlight final : public Flight {
 public:
  using Flight::Flight;

  Result<void> launch() override;
  bool poll() override;
  void cancel() override;

 private:
  struct HopStream {
    int gpu = 0;
    cu::Context context = nullptr;
    cu::Stream stream = nullptr;
    const lanes::Lane* lane = nullptr;
    std::string where;
    std::vector<cu::Event> filled;  // of the ring behind this hop, one a slot
  };

  Result<void> prepare();
  Result<HopStream> callers_stream();
  Result<HopStream> stream_for(const Hop& hop);
  Result<void> enqueue_all();
  Result<void> enqueue_chunk(std::size_t hop, Bytes index);
  Region end_of(std::size_t hop, Bytes index, Bytes offset, Bytes count) const;
  Result<cu::Event> mark(const HopStream& on, cu::Event event);
  Result<void> wait_on(const HopStream& stream, cu::Event event);
  Result<void> fork_from_caller();
  Result<void> join_to_main();
  bool all_quiet();
  void look_for_lost_gpus();
  void read_time();

  std::mutex polling_;  // one thread looks at the device at a time: at the ending, events go to the next flight
  HopStream main_;      // the caller's stream, or the first hop's own
  std::vector<HopStream> hops_;
  std::vector<std::vector<cu::Event>> freed_;  // per ring and slot: the hop after it has read the slot
  cu::Event begin_ = nullptr;
  cu::Event end_ = nullptr;
};

Result<void> DeviceFlight::launch() {
  const std::lock_guard lock(polling_);
  set_running();
  auto launched = prepare();
  if (launched) launched = enqueue_all();
  if (!launched) begin_draining(launched.error());
  return launched;
}

Result<void> DeviceFlight::prepare() {
  PEERLANE_TRY(open_peer_access());
  PEERLANE_TRY(borrow_rings());
  if (request.stream != nullptr) main_ = PEERLANE_TRY(callers_stream());
  for (const Hop& hop : route.hops) {
    HopStream on = request.stream != nullptr && route.hops.size() == 1 ? main_ : PEERLANE_TRY(stream_for(hop));
    on.lane = lanes::find_lane(hop.lane);
    on.where = to_string(hop.from) + " → " + to_string(hop.to);
    hops_.push_back(std::move(on));
  }
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    freed_.emplace_back();
    for (int slot = 0; slot < rings_[i].slots(); ++slot) {
      hops_[i].filled.push_back(PEERLANE_TRY(borrow_event(hops_[i].gpu)));
      freed_.back().push_back(PEERLANE_TRY(borrow_event(hops_[i + 1].gpu)));
    }
  }
  if (request.stream == nullptr) main_ = hops_.front();
  if (request.timed) {
    begin_ = PEERLANE_TRY(borrow_event(main_.gpu, true));
    end_ = PEERLANE_TRY(borrow_event(main_.gpu, true));
  } else {
    end_ = PEERLANE_TRY(borrow_event(main_.gpu));
  }
  return {};
}

Result<DeviceFlight::HopStream> DeviceFlight::callers_stream() {
  HopStream on;
  on.stream = request.stream;
  on.where = "the caller's stream";
  PEERLANE_TRY(
      check(rooms.driver(), rooms.driver().cuStreamGetCtx(on.stream, &on.context), "cuStreamGetCtx", on.where));
  on.gpu = rooms.contexts->gpu_of(on.context);
  if (on.gpu >= 0) return on;
  return fail(ErrorKind::invalid_argument, "the stream belongs to a context that is no GPU's primary one", "stream",
              "make it with the CUDA runtime, or in a primary context");
}

Result<DeviceFlight::HopStream> DeviceFlight::stream_for(const Hop& hop) {
  HopStream on;
  on.gpu = driving_gpu(hop);
  on.context = PEERLANE_TRY(rooms.contexts->context(on.gpu));
  on.stream = PEERLANE_TRY(borrow_stream(on.gpu));
  return on;
}

Result<void> DeviceFlight::enqueue_all() {
  if (begin_ != nullptr) PEERLANE_TRY(mark(main_, begin_));
  if (main_.stream != hops_.front().stream) PEERLANE_TRY(fork_from_caller());
  const Bytes bytes = request.from.bytes;
  const Bytes chunks = bytes == 0 ? 0 : (bytes + chunk_ - 1) / chunk_;
  for (Bytes i = 0; i < chunks; ++i) {
    for (std::size_t hop = 0; hop < hops_.size(); ++hop) PEERLANE_TRY(enqueue_chunk(hop, i));
  }
  if (main_.stream != hops_.back().stream) PEERLANE_TRY(join_to_main());
  PEERLANE_TRY(mark(main_, end_));
  return {};
}

Region DeviceFlight::end_of(std::size_t hop, Bytes index, Bytes offset, Bytes count) const {
  if (hop == 0) return request.from.slice(offset, count);
  if (hop == hops_.size()) return request.to.slice(offset, count);
  const memory::Ring& ring = rings_[hop - 1];
  return ring.slot(static_cast<int>(index % static_cast<Bytes>(ring.slots()))).slice(0, count);
}

Result<void> DeviceFlight::enqueue_chunk(std::size_t hop, Bytes index) {
  const HopStream& on = hops_[hop];
  const Bytes offset = index * chunk_;
  const Bytes count = std::min(chunk_, request.from.bytes - offset);
  ContextScope scope(rooms.driver(), on.context);
  PEERLANE_TRY(check(rooms.driver(), scope.status(), "cuCtxPushCurrent", on.where));
  if (hop > 0) {  // the slot is filled
    const auto& filled = hops_[hop - 1].filled;
    PEERLANE_TRY(wait_on(on, filled[index % filled.size()]));
  }
  if (hop < rings_.size() && index >= freed_[hop].size()) {  // the slot is free again
    PEERLANE_TRY(wait_on(on, freed_[hop][index % freed_[hop].size()]));
  }
  const lanes::Step step{end_of(hop, index, offset, count), end_of(hop + 1, index, offset, count)};
  PEERLANE_TRY(on.lane->enqueue(rooms.driver(), step, on.stream));
  if (hop < rings_.size()) PEERLANE_TRY(mark(on, on.filled[index % on.filled.size()]));
  if (hop > 0) PEERLANE_TRY(mark(on, freed_[hop - 1][index % freed_[hop - 1].size()]));
  return {};
}

Result<cu::Event> DeviceFlight::mark(const HopStream& on, cu::Event event) {
  ContextScope scope(rooms.driver(), on.context);
  PEERLANE_TRY(check(rooms.driver(), rooms.driver().cuEventRecord(event, on.stream), "cuEventRecord", on.where));
  return event;
}

Result<void> DeviceFlight::wait_on(const HopStream& stream, cu::Event event) {
  return check(rooms.driver(), rooms.driver().cuStreamWaitEvent(stream.stream, event, 0), "cuStreamWaitEvent",
               stream.where);
}

Result<void> DeviceFlight::fork_from_caller() {
  const cu::Event fork = PEERLANE_TRY(mark(main_, PEERLANE_TRY(borrow_event(main_.gpu))));
  for (const HopStream& hop : hops_) {
    ContextScope scope(rooms.driver(), hop.context);
    PEERLANE_TRY(wait_on(hop, fork));
  }
  return {};
}

Result<void> DeviceFlight::join_to_main() {
  const HopStream& last = hops_.back();
  const cu::Event join = PEERLANE_TRY(mark(last, PEERLANE_TRY(borrow_event(last.gpu))));
  ContextScope scope(rooms.driver(), main_.context);
  return wait_on(main_, join);
}

bool DeviceFlight::poll() {
  const std::unique_lock lock(polling_, std::try_to_lock);
  if (!lock || final()) return final();  // somebody else is launching it or looking at it
  if (!all_quiet()) return false;
  if (state() == TransferState::running) read_time();
  finish();
  return true;
}

/// After a launch that went well its last event says it all; after one that broke off, every stream it touched does.
bool DeviceFlight::all_quiet() {
  bool launched;
  {
    std::lock_guard lock(mutex_);
    launched = !failure_ || failure_->kind == ErrorKind::timeout || failure_->kind == ErrorKind::cancelled;
  }
  if (launched) {
    if (quiet(main_.gpu, rooms.driver().cuEventQuery(end_))) return true;
    look_for_lost_gpus();
    return false;
  }
  for (const HopStream& hop : hops_) {
    if (!quiet(hop.gpu, query(hop.context, hop.stream))) return false;
  }
  return true;
}

/// The end waits for the streams of every hop, and one on a lost GPU never gets there.
void DeviceFlight::look_for_lost_gpus() {
  for (const HopStream& hop : hops_) {
    if (hop.stream != main_.stream) quiet(hop.gpu, query(hop.context, hop.stream));
  }
}

void DeviceFlight::read_time() {
  if (begin_ == nullptr) return;
  ContextScope scope(rooms.driver(), main_.context);
  float milliseconds = 0;
  auto read = check(rooms.driver(), rooms.driver().cuEventElapsedTime(&milliseconds, begin_, end_),
                    "cuEventElapsedTime", main_.where);
  if (read) {
    receipt.seconds = milliseconds * 1e-3;
  } else {
    begin_draining(read.error());
  }
}

void DeviceFlight::cancel() {
  begin_draining({ErrorKind::cancelled, "cancelled by the caller; what was enqueued has run",
                  receipt.from_name + " → " + receipt.to_name, "", 0});
}

}  // namespace

std::shared_ptr<Flight> make_device_flight(Rooms& rooms, const Plan& plan, const Request& request) {
  return std::make_shared<DeviceFlight>(rooms, plan, request);
}

}  // namespace peerlane::engine

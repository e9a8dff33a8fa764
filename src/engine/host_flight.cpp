#include <algorithm>

#include "base/try.hpp"
#include "engine/flight.hpp"
#include "lanes/lane.hpp"
#include "memory/file.hpp"

namespace peerlane::engine {

namespace {

using vendor::check;
using vendor::ContextScope;

/// A pipeline that the host moves along. Chunk i may take hop h when it has finished hop h-1 and the slot it will fill
/// has been read by the chunk that used it before. Host hops are jobs; device hops are enqueued and watched.
class HostFlight final : public Flight {
 public:
  using Flight::Flight;

  Result<void> launch() override;
  bool poll() override;
  void cancel() override;

 private:
  struct Stage {
    const Hop* hop = nullptr;
    const lanes::Lane* lane = nullptr;
    std::string where;
    Bytes next = 0;      // chunk to start next; chunks start in order
    Bytes finished = 0;  // chunks that are through
    int running = 0;
    int gpu = -1;  // device hops only
    cu::Context context = nullptr;
    cu::Stream stream = nullptr;
    std::vector<cu::Event> marks;  // one for each chunk under way
    bool device() const { return hop->drive == Drive::device_ordered; }
  };

  Result<void> prepare();
  Result<void> make_stage(const Hop& hop);
  Result<void> order_after_callers_stream();
  void begin();
  void advance();
  bool may_start(std::size_t stage) const;
  void start(std::size_t stage);
  void start_job(std::size_t stage, Bytes index);
  Result<void> start_copy(std::size_t stage, Bytes index);
  void watch_copy(std::size_t stage, Bytes index, cu::Event mark);
  void chunk_done(std::size_t stage, Bytes index, Result<void> outcome);
  void stop(Error why);
  void end_if_quiet();
  lanes::Step step(std::size_t stage, Bytes index) const;
  Region end_of(std::size_t hop, Bytes index, Bytes offset, Bytes count) const;
  std::shared_ptr<HostFlight> self() { return std::static_pointer_cast<HostFlight>(shared_from_this()); }

  static constexpr int most_jobs = 16;  // of one hop at once: enough for every worker, few enough to cancel soon

  std::mutex pipeline_;  // guards all below
  std::vector<Stage> stages_;
  std::vector<std::uint8_t> passed_;  // per chunk: how many hops it has behind it
  Bytes chunks_ = 0;
  bool begun_ = false;
  bool stopped_ = false;
  bool ended_ = false;
  TimePoint started_{};
  std::optional<Gates::Gate> gate_;
  cu::Event callers_mark_ = nullptr;
};

Result<void> HostFlight::launch() {
  auto launched = prepare();
  if (launched && request.stream != nullptr) launched = order_after_callers_stream();
  if (!launched) {
    stop(launched.error());
    return launched;
  }
  if (request.stream == nullptr) begin();
  return {};
}

Result<void> HostFlight::prepare() {
  std::lock_guard lock(pipeline_);
  PEERLANE_TRY(open_peer_access());
  PEERLANE_TRY(borrow_rings());
  chunks_ = request.from.bytes == 0 ? 0 : (request.from.bytes + chunk_ - 1) / chunk_;
  passed_.assign(chunks_, 0);
  for (const Hop& hop : route.hops) PEERLANE_TRY(make_stage(hop));
  return {};
}

Result<void> HostFlight::make_stage(const Hop& hop) {
  Stage stage;
  stage.hop = &hop;
  stage.lane = lanes::find_lane(hop.lane);
  stage.where = to_string(hop.from) + " → " + to_string(hop.to);
  if (stage.device()) {
    stage.gpu = driving_gpu(hop);
    stage.context = PEERLANE_TRY(rooms.contexts->context(stage.gpu));
    stage.stream = PEERLANE_TRY(borrow_stream(stage.gpu));
    for (int i = 0; i < std::max(route.slots, 2); ++i) stage.marks.push_back(PEERLANE_TRY(borrow_event(stage.gpu)));
  }
  stages_.push_back(std::move(stage));
  return {};
}

/// The caller's stream goes on when the gate opens, at the ending, whatever it is; the copy begins when the stream gets
/// here.
Result<void> HostFlight::order_after_callers_stream() {
  const vendor::CudaDriver& driver = rooms.driver();
  const std::string where = "the caller's stream";
  int capturing = 0;
  PEERLANE_TRY(check(driver, driver.cuStreamIsCapturing(request.stream, &capturing), "cuStreamIsCapturing", where));
  if (capturing != 0) {
    return fail(ErrorKind::unavailable, "this road needs a CPU at work, and a graph cannot hold one", where,
                "capture a copy between GPU and pinned memory instead");
  }
  cu::Context context = nullptr;
  PEERLANE_TRY(check(driver, driver.cuStreamGetCtx(request.stream, &context), "cuStreamGetCtx", where));
  const int gpu = rooms.contexts->gpu_of(context);
  if (gpu < 0)
    return fail(ErrorKind::invalid_argument, "the stream belongs to a context that is no GPU's primary one", where);
  callers_mark_ = PEERLANE_TRY(borrow_event(gpu));
  gate_ = PEERLANE_TRY(rooms.gates.close());
  ContextScope scope(driver, context);
  PEERLANE_TRY(check(driver, driver.cuEventRecord(callers_mark_, request.stream), "cuEventRecord", where));
  PEERLANE_TRY(check(driver,
                     driver.cuStreamWaitValue32(request.stream, reinterpret_cast<cu::DevicePtr>(gate_->word),
                                                gate_->value, cu::wait_value_geq),
                     "cuStreamWaitValue32", where));
  rooms.workers.watch([watched = std::weak_ptr(self()), gpu] {
    const auto flight = watched.lock();
    if (flight == nullptr) return true;
    const cu::Status status = flight->rooms.driver().cuEventQuery(flight->callers_mark_);
    if (status == cu::Status::not_ready && !flight->overdue()) return false;
    if (status == cu::Status::success) {
      flight->begin();
    } else if (status == cu::Status::not_ready) {
      flight->expire();
      flight->stop(flight->answer().error());
    } else {
      flight->stop(vendor::driver_error(flight->rooms.driver(), status, "cuEventQuery", to_string(peerlane::gpu(gpu))));
    }
    return true;
  });
  return {};
}

void HostFlight::begin() {
  {
    std::lock_guard lock(pipeline_);
    begun_ = true;
    started_ = rooms.clock.now();
  }
  set_running();
  advance();
}

void HostFlight::advance() {
  if (overdue()) expire();
  {
    std::lock_guard lock(pipeline_);
    if (state() == TransferState::draining) stopped_ = true;
    for (std::size_t stage = stages_.size(); stage-- > 0 && !stopped_;) {  // the far end first: it frees slots
      while (!stopped_ && may_start(stage)) start(stage);
    }
  }
  end_if_quiet();
}

bool HostFlight::may_start(std::size_t index) const {
  const Stage& stage = stages_[index];
  if (!begun_ || stage.next == chunks_) return false;
  if (stage.running >= (stage.device() ? static_cast<int>(stage.marks.size()) : most_jobs)) return false;
  if (passed_[stage.next] != index) return false;
  if (index == rings_.size()) return true;  // the last hop fills no slot
  const Bytes slots = static_cast<Bytes>(rings_[index].slots());
  return stage.next < slots || passed_[stage.next - slots] >= index + 2;
}

void HostFlight::start(std::size_t index) {
  Stage& stage = stages_[index];
  const Bytes chunk = stage.next++;
  ++stage.running;
  if (!stage.device()) return start_job(index, chunk);
  if (auto started = start_copy(index, chunk); !started) {
    begin_draining(started.error());
    stopped_ = true;
  }
}

void HostFlight::start_job(std::size_t index, Bytes chunk) {
  const lanes::Step work = step(index, chunk);
  const Hop& hop = *stages_[index].hop;
  const WorkKind kind = hop.from.kind == PlaceKind::file ? WorkKind::file_read
                        : hop.to.kind == PlaceKind::file ? WorkKind::file_write
                                                         : WorkKind::cpu_copy;
  rooms.workers.post({[flight = self(), index, chunk, work] {
                        flight->chunk_done(index, chunk, flight->stages_[index].lane->run(work));
                      },
                      kind, work.from.bytes});
}

Result<void> HostFlight::start_copy(std::size_t index, Bytes chunk) {
  Stage& stage = stages_[index];
  const vendor::CudaDriver& driver = rooms.driver();
  const cu::Event mark = stage.marks[chunk % stage.marks.size()];
  ContextScope scope(driver, stage.context);
  auto enqueued = check(driver, scope.status(), "cuCtxPushCurrent", stage.where);
  if (enqueued) enqueued = stage.lane->enqueue(driver, step(index, chunk), stage.stream);
  if (enqueued) enqueued = check(driver, driver.cuEventRecord(mark, stage.stream), "cuEventRecord", stage.where);
  watch_copy(index, chunk, enqueued ? mark : nullptr);  // also after a failure: the stream may hold part of it
  return enqueued;
}

/// Watches one chunk; without a mark (its recording failed) the whole stream.
void HostFlight::watch_copy(std::size_t index, Bytes chunk, cu::Event mark) {
  rooms.workers.watch([watched = std::weak_ptr(self()), index, chunk, mark] {
    const auto flight = watched.lock();
    if (flight == nullptr) return true;  // abandoned at the session's end
    const Stage& stage = flight->stages_[index];
    const vendor::CudaDriver& driver = flight->rooms.driver();
    const cu::Status status = mark != nullptr ? driver.cuEventQuery(mark) : flight->query(stage.context, stage.stream);
    if (flight->overdue()) flight->advance();
    if (!flight->quiet(stage.gpu, status)) return false;
    auto outcome = check(driver, status, "cuEventQuery", stage.where);
    flight->chunk_done(index, chunk, std::move(outcome));
    return true;
  });
}

void HostFlight::chunk_done(std::size_t index, Bytes chunk, Result<void> outcome) {
  if (!outcome) begin_draining(outcome.error());
  {
    std::lock_guard lock(pipeline_);
    Stage& stage = stages_[index];
    --stage.running;
    ++stage.finished;
    ++passed_[chunk];
    if (!outcome) stopped_ = true;
  }
  advance();
}

void HostFlight::stop(Error why) {
  begin_draining(std::move(why));
  {
    std::lock_guard lock(pipeline_);
    stopped_ = true;
  }
  end_if_quiet();
}

void HostFlight::end_if_quiet() {
  {
    std::lock_guard lock(pipeline_);
    const bool idle = std::all_of(stages_.begin(), stages_.end(), [](const Stage& s) { return s.running == 0; });
    const bool through = begun_ && (stages_.empty() || stages_.back().finished == chunks_);
    if (ended_ || !idle || !(through || stopped_)) return;
    ended_ = true;
    if (through && begun_) receipt.seconds = seconds(rooms.clock.now() - started_);
  }
  if (request.durable && request.to.file != nullptr && state() == TransferState::running) {
    if (auto synced = request.to.file->sync(); !synced) begin_draining(synced.error());
  }
  if (gate_) {
    rooms.gates.open(*gate_);
    rooms.gates.give_back(*gate_);
  }
  finish();
}

lanes::Step HostFlight::step(std::size_t index, Bytes chunk) const {
  const Bytes offset = chunk * chunk_;
  const Bytes count = std::min(chunk_, request.from.bytes - offset);
  return {end_of(index, chunk, offset, count), end_of(index + 1, chunk, offset, count)};
}

Region HostFlight::end_of(std::size_t hop, Bytes chunk, Bytes offset, Bytes count) const {
  if (hop == 0) return request.from.slice(offset, count);
  if (hop == stages_.size()) return request.to.slice(offset, count);
  const memory::Ring& ring = rings_[hop - 1];
  return ring.slot(static_cast<int>(chunk % static_cast<Bytes>(ring.slots()))).slice(0, count);
}

bool HostFlight::poll() {
  if (final()) return true;
  if (overdue()) advance();
  return final();
}

void HostFlight::cancel() {
  stop({ErrorKind::cancelled, "cancelled by the caller", receipt.from_name + " → " + receipt.to_name, "", 0});
}

}  // namespace

std::shared_ptr<Flight> make_host_flight(Rooms& rooms, const Plan& plan, const Request& request) {
  return std::make_shared<HostFlight>(rooms, plan, request);
}

}  // namespace peerlane::engine

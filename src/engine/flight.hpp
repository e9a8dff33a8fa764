#pragma once
/// A transfer under way. Lives until it is quiet, with or without a handle on it.

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "engine/rooms.hpp"
#include "peerlane/plan.hpp"
#include "peerlane/transfer.hpp"

namespace peerlane::engine {

class Engine;

struct Request {
  Region from;
  Region to;
  cu::Stream stream = nullptr;  ///< the caller's, or null
  TimePoint deadline{};
  bool timed = false;
  bool verify = false;
  bool durable = false;
};

struct Flight : std::enable_shared_from_this<Flight> {
  Flight(Rooms& rooms, const Plan& plan, const Request& request);
  virtual ~Flight() = default;
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  /// Puts the bytes on their way. After an error the flight may still have to drain: poll until it is final.
  virtual Result<void> launch() = 0;
  /// Looks at the device without waiting; true when final.
  virtual bool poll() = 0;
  virtual void cancel() = 0;

  TransferState state() const;
  bool final() const;
  bool overdue() const { return rooms.clock.now() >= request.deadline; }
  /// The deadline has passed: drain, and remember why.
  void expire();
  /// A GPU it used is lost: it may never become quiet, and there is no point in waiting for that.
  bool lost() const;
  /// The answer of a final or a lost flight.
  Result<Receipt> answer() const;
  /// GPUs whose engines this flight uses.
  std::vector<int> gpus() const;

  Engine* engine = nullptr;
  Rooms& rooms;
  const Route route;  ///< the one that carries the bytes
  const Request request;
  Receipt receipt;

 protected:
  void set_running();
  void begin_draining(Error why);
  /// The one ending: gives back rings, streams, events and leases, then makes the state final. Called once, when quiet.
  void finish();

  struct BorrowedStream {
    int gpu;
    cu::Stream stream;
  };
  struct BorrowedEvent {
    int gpu;
    cu::Event event;
    bool timing;
  };
  Result<cu::Stream> borrow_stream(int gpu);
  Result<cu::Event> borrow_event(int gpu, bool timing = false);
  /// A ring at every place between hops; their slots join `leases`.
  Result<void> borrow_rings();
  /// Peer access for every hop between two GPUs.
  Result<void> open_peer_access();
  /// `query` of an event or stream: true when quiet. A sticky error is quiet too: nothing runs in a dead context.
  bool quiet(int gpu, cu::Status status);
  /// Asks a stream. (An event is asked without its context being current, a stream is not.)
  cu::Status query(cu::Context context, cu::Stream stream) const;

  mutable std::mutex mutex_;
  TransferState state_ = TransferState::queued;
  std::optional<Error> failure_;
  std::vector<memory::Leases::Ticket> leases_;
  std::vector<memory::Ring> rings_;
  Bytes chunk_ = 0;  ///< route.chunk, or less where memory for the rings was short
  std::vector<BorrowedStream> streams_;
  std::vector<BorrowedEvent> events_;
};

/// Everything on CUDA streams, enqueued whole by launch().
std::shared_ptr<Flight> make_device_flight(Rooms& rooms, const Plan& plan, const Request& request);
/// Chunk by chunk, moved along by workers.
std::shared_ptr<Flight> make_host_flight(Rooms& rooms, const Plan& plan, const Request& request);

/// The GPU whose stream carries a hop: the source's (push) where the source is a GPU, else the destination's.
int driving_gpu(const Hop& hop);

}  // namespace peerlane::engine

#pragma once
/// Submits plans and watches over flights until they are quiet.

#include <memory>
#include <mutex>
#include <vector>

#include "engine/flight.hpp"
#include "lanes/lane.hpp"

namespace peerlane::engine {

/// The short way, ready made: one device-ordered hop whose plan is known. Never moves once made.
struct ShortWay {
  const lanes::Lane* lane = nullptr;
  cu::Context from_context = nullptr;  ///< null for host memory
  cu::Context to_context = nullptr;
  int gpu = 0;
  Plan plan;
};

class Engine {
 public:
  explicit Engine(Rooms& rooms) : rooms_(rooms) {}
  /// Waits for flights until their deadlines; what is stuck then has its GPUs abandoned, and its leases never end.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Result<Transfer> submit(const Plan& plan, const Request& request);

  /// One driver call on the caller's stream and nothing else: no allocation, no event, no lock.
  /// `patience` counts from the first wait: when the caller's stream gets to the copy is not ours to know.
  Result<Transfer> submit_short(const ShortWay& way, const Region& from, const Region& to, cu::Stream stream,
                                Nanoseconds patience);

  /// Ends what has become quiet; called now and then by submit.
  void sweep();

 private:
  friend class peerlane::Transfer;
  void abandon(const Flight& flight);
  Result<Receipt> wait(Flight& flight, TimePoint until);
  Result<Receipt> wait_short(const ShortWay& way, cu::Stream stream, Bytes bytes, Nanoseconds patience);
  TransferState state_short(const ShortWay& way, cu::Stream stream);
  Rooms& rooms_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Flight>> flights_;  ///< not known to be final
};

}  // namespace peerlane::engine

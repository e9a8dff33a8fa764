#pragma once
/// A transfer is a plan under way; a receipt is what really happened.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peerlane/place.hpp"
#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

namespace engine {
class Engine;
struct Flight;
}  // namespace engine

/// done, failed and cancelled are final, come exactly once, and mean quiet: nothing reads the source or writes the
/// destination any more. `draining` is on the way there: decided, but an engine still holds the buffers.
enum class TransferState { queued, running, draining, done, failed, cancelled };

std::string_view to_string(TransferState state);

struct ReceiptRoute {
  std::vector<std::string> lanes;
  std::vector<Place> places;
  Bytes bytes = 0;
};

struct Receipt {
  Place from;
  Place to;
  std::string from_name;
  std::string to_name;
  Bytes bytes = 0;
  double seconds = 0;  ///< 0 when the transfer was not timed
  double expected_seconds = 0;
  std::vector<ReceiptRoute> routes;
  std::string fallback;          ///< why a better road was not taken; empty when none was
  std::optional<bool> verified;  ///< digests compared; nothing where nobody asked
  bool simulated = false;

  double bytes_per_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

/// The handle of a copy. Move-only; may be dropped at any time: the copy goes on, and its buffers stay leased until it
/// is quiet. May outlive the session only to be dropped.
///
/// A copy on the caller's own stream costs no event and no look at a clock: waiting for it waits for what the stream
/// holds by then, and its deadline counts from that wait.
class Transfer {
 public:
  Transfer() = default;
  Transfer(Transfer&&) noexcept;
  Transfer& operator=(Transfer&&) noexcept;
  ~Transfer();

  TransferState state() const;
  /// Blocks until the transfer is final or its deadline passes; then `timeout` is returned and the transfer goes on
  /// draining. A second wait returns the same answer once it is final.
  Result<Receipt> wait();
  /// As above with an earlier deadline of the caller's.
  Result<Receipt> wait_for(std::chrono::nanoseconds patience);
  /// Asks it to end early. What a copy engine already holds is finished; the rest is not begun.
  void cancel();

 private:
  friend class engine::Engine;
  explicit Transfer(std::shared_ptr<engine::Flight> flight) : flight_(std::move(flight)) {}

  /// The short way, a single device-ordered hop on the caller's stream: no allocation, no event, no flight.
  struct Light {
    engine::Engine* engine = nullptr;
    void* stream = nullptr;
    const void* route = nullptr;
    Bytes bytes = 0;
    std::int64_t patience_ns = 0;
  };
  Light light_;
  std::shared_ptr<engine::Flight> flight_;
};

}  // namespace peerlane

#pragma once
/// The session: this machine, or a simulated one, ready to move bytes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peerlane/machine.hpp"
#include "peerlane/plan.hpp"
#include "peerlane/region.hpp"
#include "peerlane/transfer.hpp"

namespace peerlane {

namespace vendor {
struct CudaDriver;
}
namespace sim {
class Simulation;
}

/// A CUDA stream: a `CUstream` or `cudaStream_t`. Null means: a stream of the session's own.
using StreamHandle = void*;

struct Options {
  std::string machine;              ///< a preset or a machine file, simulated; empty: this machine
  std::uint64_t seed = 0;           ///< fixes all chance of a simulated machine
  std::vector<std::string> faults;  ///< KIND:WHERE[:N], simulated machines only
  bool threaded = false;            ///< simulated machines: real worker threads instead of seeded steps
  bool strict = false;              ///< fail rather than take a fallback
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);  ///< of a transfer that names none
  Bytes staging = 64_MiB;                                        ///< pinned memory that one staged transfer may hold
  std::string helper;  ///< path of `peerlane-probe`; empty: beside the program, then the install's libexec
};

struct CopyOptions {
  /// Of the source's or the destination's GPU. The copy is ordered with it, both ways, and the host does not wait.
  StreamHandle stream = nullptr;
  std::chrono::nanoseconds deadline{0};  ///< 0: the session's
  bool timed = false;                    ///< the receipt's seconds are wanted (costs two events)
  bool verify = false;                   ///< digest at both ends; `wait` fails with data_mismatch when they differ
  bool strict = false;
  bool durable = false;  ///< a file end is synced to its disk before the transfer is done
};

/// Peer access held open: for `reader` to reach memory of `owner`. One way. Counted: undone when the last holder drops
/// it, unless somebody else in the process had opened it before.
class PeerAccess {
 public:
  PeerAccess() = default;
  explicit PeerAccess(std::shared_ptr<void> hold) : hold_(std::move(hold)) {}
  explicit operator bool() const { return hold_ != nullptr; }

 private:
  std::shared_ptr<void> hold_;
};

class Session {
 public:
  static Result<Session> open(Options options = {});
  /// On a machine that is described, simulated; `options.machine` is not looked at.
  static Result<Session> open(Machine machine, Options options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  /// Waits for what is in flight until each deadline; what is still stuck then stays leased for ever.
  ~Session();

  const Machine& machine() const;
  bool simulated() const;

  /// Memory at gpu:N, host, host:N or mem. Contents are undefined.
  Result<Buffer> allocate(Place place, Bytes bytes);
  /// Whose memory is this? Finds the place of a pointer that somebody else allocated.
  Result<Region> region(void* pointer, Bytes bytes);

  /// A file to read. `bytes` of the region is the file's size.
  Result<Region> open_source(const std::string& path);
  /// A file to write, `bytes` long. Nothing stands under `path` until `commit`; a session that ends before leaves
  /// nothing behind.
  Result<Region> open_target(const std::string& path, Bytes bytes);
  /// Gives a target its name, replacing what stood there. `durable`: only after its bytes and its name are on disk.
  Result<void> commit(const Region& target, bool durable = false);
  /// Closes a file before the session ends. No copy may be using it; a target that was not committed is discarded.
  void close(const Region& file);

  Result<Plan> plan(const Region& from, const Region& to) const;
  /// Without memory: what would a copy of this size do?
  Result<Plan> plan(Place from, Place to, Bytes bytes) const;

  /// Returns at once. Regions must have the same size, and must not overlap.
  Result<Transfer> copy(const Region& from, const Region& to, const CopyOptions& options = {});

  /// 64-bit digest of the bytes, the same wherever they live (base/digest.hpp says how it is made). Waits for it.
  Result<std::uint64_t> digest(const Region& region);
  /// Fills memory with a pattern drawn from `seed`; no two 8-byte words of it are alike.
  Result<void> fill(const Region& region, std::uint64_t seed);

  Result<PeerAccess> allow(Place reader, Place owner);

  /// Bytes that stuck transfers still hold; such memory is not given back.
  Bytes leased() const;

  const vendor::CudaDriver& driver() const;
  /// Null on a real machine. Whoever keeps it can look for leaks after the session has gone.
  std::shared_ptr<sim::Simulation> simulation() const;

 private:
  struct House;
  explicit Session(std::unique_ptr<House> house);
  std::unique_ptr<House> house_;
};

}  // namespace peerlane

#pragma once
/// A simulated CUDA driver over any Machine: real bytes, invented time, hostile by default.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/workers.hpp"
#include "peerlane/machine.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::sim {

struct Settings {
  std::uint64_t seed = 0;
  double noise = 0;        ///< relative spread of every duration, drawn from the seed
  bool initialize = true;  ///< hand out the table as `load_cuda` does: cuInit was called
};

/// At most eight live at once in a process (the driver's table has no room for a `this`).
class Simulation {
 public:
  static Result<std::unique_ptr<Simulation>> start(const Machine& machine, Settings settings = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// The table. Valid as long as the simulation lives. A blocking call on something that can never finish, which would
  /// hang for ever on hardware, answers launch_timeout after a virtual hour.
  const vendor::CudaDriver& driver() const;

  /// Virtual time as the host sees it: it moves with driver calls, waits and modelled host work.
  const Clock& clock() const;

  /// Workers stepped on the waiting thread, in virtual time, in an order drawn from the seed.
  Workers& workers();

  /// Adds a fault: KIND:WHERE[:N], counted from now on. KIND is corrupt, drop, misdirect, mirror, stale, stuck, lost or
  /// fail; WHERE a directed hop "gpu:0>gpu:1" (also "host>gpu:0"), a place "gpu:1", or a driver call's name; N the Nth
  /// time only (lost: from the Nth operation on). A releasing call that fails still releases, as the driver's do.
  Result<void> add_fault(const std::string& text);

  /// How often each driver call was made since the start, in the order of PEERLANE_CUDA_CALLS; for fail-the-Nth tests.
  std::vector<std::pair<std::string_view, std::uint64_t>> calls() const;

  /// Device and pinned bytes, streams, events, contexts, registrations that are still held; empty when nothing leaks.
  std::vector<std::string> leaks() const;

  /// Bytes that crossed a link so far, in the direction from node a to b and back; the simulated NVML counters.
  std::pair<Bytes, Bytes> carried(int link) const;

  class World;  // the event simulation itself; sim/ only

 private:
  explicit Simulation(std::unique_ptr<World> world);
  std::unique_ptr<World> world_;
};

}  // namespace peerlane::sim

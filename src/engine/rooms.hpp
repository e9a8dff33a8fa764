#pragma once
/// What the engine works with; the session makes and owns it.

#include <memory>

#include "base/clock.hpp"
#include "base/workers.hpp"
#include "engine/pools.hpp"
#include "kernels/kernels.hpp"
#include "memory/memory.hpp"
#include "memory/peer_access.hpp"
#include "memory/staging.hpp"

namespace peerlane::engine {

struct Rooms {
  Rooms(const Clock& the_clock, Workers& the_workers, std::shared_ptr<memory::Memory> the_memory,
        std::shared_ptr<memory::Contexts> the_contexts)
      : clock(the_clock),
        workers(the_workers),
        memory(std::move(the_memory)),
        contexts(std::move(the_contexts)),
        peers(std::make_shared<memory::PeerTable>(contexts)),
        access(peers),
        staging(memory),
        kernels(contexts),
        streams(*contexts),
        gates(memory),
        events(*contexts, cu::event_disable_timing),
        timing_events(*contexts, cu::event_default) {}

  const vendor::CudaDriver& driver() const { return contexts->driver(); }

  const Clock& clock;
  Workers& workers;
  std::shared_ptr<memory::Memory> memory;
  std::shared_ptr<memory::Contexts> contexts;
  std::shared_ptr<memory::PeerTable> peers;
  StandingAccess access;
  memory::Staging staging;
  kernels::Kernels kernels;
  memory::Streams streams;
  Gates gates;
  memory::Events events;
  memory::Events timing_events;
};

}  // namespace peerlane::engine

#pragma once
/// A simulated machine with the rooms of memory over it. Whatever a test does, nothing may be held at its end.

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>

#include "memory/memory.hpp"
#include "memory/peer_access.hpp"
#include "memory/staging.hpp"
#include "sim/simulation.hpp"

namespace peerlane::test {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

class World {
 public:
  explicit World(const std::string& preset_name) : World(must(preset(preset_name))) {}
  explicit World(Machine the_machine)
      : machine(std::move(the_machine)), simulation(must(sim::Simulation::start(machine))) {
    driver().cuInit(0);  // refused where there is no GPU, as the real one does
    contexts = std::make_shared<memory::Contexts>(driver(), machine.gpu_count());
    memory = std::make_shared<memory::Memory>(contexts, machine);
    peers = std::make_shared<memory::PeerTable>(contexts);
    staging.emplace(memory);
    streams.emplace(*contexts);
  }
  ~World() {
    close();
    EXPECT_TRUE(leaves_something_ || simulation->leaks().empty()) << testing::PrintToString(simulation->leaks());
  }

  /// Drops every room, so that only what leaked is still held.
  void close() {
    for (const auto& [gpu, stream] : borrowed_) streams->give_back(gpu, stream);
    borrowed_.clear();
    streams.reset();
    staging.reset();
    peers.reset();
    memory.reset();
    contexts.reset();
  }

  /// For tests in which a GPU keeps what it held, as it should.
  void leaves_something() { leaves_something_ = true; }

  /// A stream that is given back when the rooms close.
  cu::Stream stream(int gpu) {
    borrowed_.emplace_back(gpu, must(streams->borrow(gpu)));
    return borrowed_.back().second;
  }

  const vendor::CudaDriver& driver() const { return simulation->driver(); }
  std::uint64_t calls(std::string_view name) const {
    for (const auto& [call, count] : simulation->calls()) {
      if (call == name) return count;
    }
    ADD_FAILURE() << "there is no driver call " << name;
    return 0;
  }
  /// Every place that memory can be taken at.
  std::vector<Place> places() const {
    std::vector<Place> places{host(), mem()};
    for (int ordinal = 0; ordinal < machine.gpu_count(); ++ordinal) places.push_back(gpu(ordinal));
    for (const int node : machine.numa_nodes()) places.push_back(host(node));
    return places;
  }

  const Machine machine;
  const std::unique_ptr<sim::Simulation> simulation;
  std::shared_ptr<memory::Contexts> contexts;
  std::shared_ptr<memory::Memory> memory;
  std::shared_ptr<memory::PeerTable> peers;
  std::optional<memory::Staging> staging;
  std::optional<memory::Streams> streams;

 private:
  std::vector<std::pair<int, cu::Stream>> borrowed_;
  bool leaves_something_ = false;
};

/// A machine of sockets alone.
inline Machine machine_without_gpu() {
  Machine machine;
  machine.name = "two sockets";
  for (int node = 0; node < 2; ++node) {
    Node& numa = machine.nodes.emplace_back();
    numa.kind = NodeKind::numa;
    numa.index = node;
    numa.memory = 8_GiB;
  }
  return machine;
}

}  // namespace peerlane::test

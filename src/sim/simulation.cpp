#include "sim/simulation.hpp"

#include <fmt/format.h>

#include "sim/world.hpp"

namespace peerlane::sim {

Result<std::unique_ptr<Simulation>> Simulation::start(const Machine& machine, Settings settings) {
  const int slot = claim_slot();
  if (slot < 0) {
    return fail(ErrorKind::unavailable,
                fmt::format("{} simulated machines run in this process already, and there is no room for more",
                            most_simulations),
                machine.name, "end one of them first");
  }
  auto world = std::make_unique<World>(machine, settings, slot);
  world->table.simulated = true;
  world->table.loaded_from = "simulated " + machine.name;
  world->table.version = machine.cuda_version > 0 ? machine.cuda_version : 13000;
  fill_table(slot, world.get());
  if (settings.initialize) world->table.cuInit(0);
  return std::unique_ptr<Simulation>(new Simulation(std::move(world)));
}

Simulation::Simulation(std::unique_ptr<World> world) : world_(std::move(world)) {}

Simulation::~Simulation() {
  release_slot(world_->slot());
}

const vendor::CudaDriver& Simulation::driver() const {
  return world_->table;
}

const Clock& Simulation::clock() const {
  return world_->timeline();
}

Workers& Simulation::workers() {
  return world_->workers;
}

Result<void> Simulation::add_fault(const std::string& text) {
  const std::lock_guard lock(world_->mutex());
  return world_->add_fault(text);
}

std::vector<std::pair<std::string_view, std::uint64_t>> Simulation::calls() const {
  const std::lock_guard lock(world_->mutex());
  std::vector<std::pair<std::string_view, std::uint64_t>> counts;
  for (std::size_t call = 0; call < world_->call_counts.size(); ++call) {
    counts.emplace_back(call_names[call], world_->call_counts[call]);
  }
  return counts;
}

std::vector<std::string> Simulation::leaks() const {
  const std::lock_guard lock(world_->mutex());
  return world_->leaks();
}

std::pair<Bytes, Bytes> Simulation::carried(int link) const {
  const std::lock_guard lock(world_->mutex());
  const bool known = link >= 0 && link < static_cast<int>(world_->carried.size());
  return known ? world_->carried[link] : std::pair<Bytes, Bytes>{};
}

}  // namespace peerlane::sim

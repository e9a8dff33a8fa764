#include "discover/discover.hpp"

#include "discover/join.hpp"
#include "discover/probes.hpp"

namespace peerlane::discover {

Machine this_machine(const vendor::CudaDriver* driver, const std::string& why_no_driver, const Settings& settings) {
  Facts facts;
  facts.host = host_facts();
  if (driver == nullptr) {
    facts.driver.notes.push_back("CUDA is not available here: " + why_no_driver);
    return join_facts(facts);
  }
  facts.driver = driver_facts(*driver);
  // Without a GPU there is nothing to ask NVML about.
  if (!facts.driver.gpus.empty()) facts.nvml = nvml_facts(settings);
  return join_facts(facts);
}

}  // namespace peerlane::discover

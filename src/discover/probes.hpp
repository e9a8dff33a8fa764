#pragma once
/// The probes, one a file. None of them fails: what cannot be told is a note among the facts.

#include <string>
#include <string_view>

#include "discover/discover.hpp"
#include "discover/facts.hpp"

namespace peerlane::discover {

DriverFacts driver_facts(const vendor::CudaDriver& driver);

/// Asks the helper process.
NvmlFacts nvml_facts(const Settings& settings);
/// Reads the helper's document.
NvmlFacts parse_nvml(std::string_view document);

/// Where the host's facts are read from; other than the defaults only in tests.
struct HostSources {
  std::string hwloc_xml;  ///< a topology's XML text; empty: this machine
  std::string sysfs = "/sys";
  std::string procfs = "/proc";
};
HostFacts host_facts(const HostSources& sources = {});

}  // namespace peerlane::discover

#pragma once
/// All that NVML tells of this machine, as one JSON document. Schema `peerlane.nvml/1`:
///
///   available: bool; reason: why not
///   library, driver, nvml: path and versions
///   gpus:  [{index, name, uuid, pci, mig, pcie: {generation, max_generation, width, max_width},
///            links: [{link, active, version, speed_mb_s, remote, remote_pci, peer, atomics}], c2c_links,
///            fabric: {state, status, clique, health}}]
///   pairs: [{from, to, ancestor, p2p: {read, write, nvlink, atomics, pci}}]
///   notes: sentences on what could not be read
///
/// A key is left out where NVML does not know; codes are NVML's own.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace peerlane::probe {

nlohmann::json nvml_report(const std::string& library_path);

}  // namespace peerlane::probe

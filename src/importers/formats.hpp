#pragma once
/// The kinds of files there are, an importer each.

#include <string>

#include "importers/importer.hpp"

namespace peerlane::importers {

Importer topo_matrix();    ///< `nvidia-smi topo -m`
Importer peer_matrix();    ///< `nvidia-smi topo -p2p r|w|n|a|p`
Importer nvlink_status();  ///< `nvidia-smi nvlink -s`
Importer gpu_list();       ///< `nvidia-smi -L`
Importer rocm_topology();  ///< `rocm-smi --showtopo`
Importer address_map();    ///< /proc/iomem and the kernel's log: where BARs found no room
Importer nccl_xml();       ///< NCCL's topology XML, and RCCL's
Importer hwloc_xml();      ///< hwloc's XML, version 2 and what hwloc still reads of older ones
Importer lspci();          ///< `lspci -t`, `-tv`, `-nn`, `-vv`, `-vvv`

/// A folder with a machine's /sys, and /proc where it is there. Notes what is missing.
Result<Said> read_sysfs(const std::string& root);

}  // namespace peerlane::importers

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
Importer lspci();          ///< `lspci -t`, `-tv`, `-nn`, `-vv`, `-vvv`

}  // namespace peerlane::importers

#pragma once
/// What one file says of a machine, before it is joined with what other files say. -1, 0 and empty mean: not said.

#include <string>
#include <string_view>
#include <vector>

#include "peerlane/machine.hpp"

namespace peerlane::importers {

/// A PCIe link: what it can do and what it did when the file was written.
struct SaidPcie {
  int generation = 0;
  int width = 0;
  int generation_now = 0;
  int width_now = 0;
};

/// A NUMA node.
struct SaidNode {
  int number = 0;
  int socket = -1;
  Bytes memory = 0;
  std::string cpus;         ///< "0-31,64-95"
  bool gpu_memory = false;  ///< the memory of a GPU, which is no place of the host's
};

enum class SaidKind { host_bridge, root_port, bridge, gpu, nic, drive, nvswitch, device };

/// A card or a bridge. Where the file has a PCI tree, bridges stand before what hangs on them.
struct SaidDevice {
  SaidKind kind = SaidKind::gpu;
  int ordinal = -1;   ///< GPUs: as the file numbers them; NICs: N of "NICN"
  std::string name;   ///< "NVIDIA H200", "mlx5_0"; empty where only the number is said
  std::string pci;    ///< normal form, see base/pci_address.hpp
  std::string uuid;   ///< GPUs
  std::string cpus;   ///< near it
  int numa = -1;      ///< near it: number of a NUMA node
  int above = -1;     ///< index of the bridge it hangs on, always smaller than its own; -1: straight at a CPU
  SaidPcie pcie;      ///< of the link that leads up from it
  Bytes memory = 0;   ///< GPUs
  int compute_major = 0;
  int compute_minor = 0;
  int memory_numa = -1;  ///< GPUs whose memory is a NUMA node
  int mig_slices = 0;    ///< GPUs
  bool amd = false;      ///< GPUs: its links to others are xGMI
};

/// The class of the way between two devices: "NV4", "PIX", "SYS" (never the old "SOC"), "XGMI".
struct SaidLetters {
  int a = 0;  ///< indices into `devices`; said both ways by one entry
  int b = 0;
  std::string letters;
};

enum class SaidFarEnd { unknown, gpu, nvswitch, cpu };

/// The links of one GPU that lead to one far end, bonded.
struct SaidNvlinks {
  int gpu = 0;  ///< index into `devices`
  SaidFarEnd far_end = SaidFarEnd::unknown;
  int far_gpu = -1;  ///< index into `devices` where the far end is a GPU
  int up = 0;        ///< links that are active
  int down = 0;      ///< links that are not
  int generation = 0;
  double raw_bytes_per_s = 0;  ///< of one link, per direction: the signalling rate
};

/// An answer of `nvidia-smi topo -p2p`: may `from` do `what` with the memory of `to`?
struct SaidPeer {
  int from = 0;  ///< indices into `devices`
  int to = 0;
  char what = 'r';     ///< r read, w write, n NVLink, a atomics, p PCIe
  std::string status;  ///< "OK", "CNS", "GNS", "TNS", "NS", "DR", "U"
};

struct Said {
  std::string source;                 ///< the file
  std::string_view format;            ///< "nvidia-smi topo -m"; static storage
  bool has_tree = false;              ///< `above` of the devices means something
  bool bridges_are_switches = false;  ///< in the tree a bridge is a whole switch, not one PCI bridge of it
  std::vector<SaidNode> nodes;        ///< NUMA nodes
  std::vector<SaidDevice> devices;    //
  std::vector<SaidLetters> letters;   //
  std::vector<SaidNvlinks> nvlinks;   //
  std::vector<SaidPeer> peers;        //
  std::string driver;                 ///< "580.159.04"
  std::vector<std::string> notes;     ///< what could not be read and what is remarkable, sentences
};

}  // namespace peerlane::importers

#pragma once
/// The machine: the places bytes can live at and the links between them. Facts only, no choices.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

enum class NodeKind {
  gpu,
  numa,
  socket,
  pcie_switch,
  root_port,  ///< with several devices on it, it stands for their host bridge
  nvswitch,
  nic,
  drive,
  device,  ///< on PCIe, and nobody says what it is
};

/// One thing that links meet at. Its id is unique and stable: "gpu:0", "numa:1", "socket:0", "switch:2", "port:3",
/// "nvswitch:0", "nic:0", "drive:0", "device:0".
struct Node {
  NodeKind kind = NodeKind::gpu;
  int index = 0;     ///< number within its kind; for a GPU the CUDA ordinal, for numa the operating system's node
  std::string name;  ///< "NVIDIA H200", "mlx5_0", "nvme0n1"; may be empty
  std::string pci;   ///< "0000:1b:00.0"; empty where there is none or it is not known
  std::string uuid;  ///< GPUs: "GPU-…"; else empty
  int numa = -1;     ///< nearest NUMA node, -1 unknown
  Bytes memory = 0;  ///< GPUs and numa: size of their memory
  double memory_bytes_per_s = 0;  ///< GPUs and numa: read and written together; a copy inside it gets half
  int compute_major = 0;          ///< GPUs: compute capability
  int compute_minor = 0;
  int copy_engines = 0;  ///< GPUs: asynchronous copy engines
  std::string cpus;      ///< GPUs and numa: CPUs near it as Linux lists them, "0-31,64-95"; empty unknown
  int memory_numa = -1;  ///< GPUs whose memory is a NUMA node of the operating system: its number; else -1
  int mig_slices = 0;    ///< GPUs: MIG instances it is cut into; 0: whole

  std::string id() const;
  friend bool operator==(const Node&, const Node&) = default;
};

enum class LinkKind {
  nvlink,  ///< GPU to GPU, or GPU to NVSwitch; `width` links bonded
  pcie,    ///< between GPU, switch, root port, NIC, drive; `width` lanes
  root,    ///< root port to its socket: the host bridge
  memory,  ///< socket to one of its NUMA nodes
  socket,  ///< between sockets: UPI, xGMI
  c2c,     ///< Grace to its GPU
  xgmi,    ///< AMD GPU to AMD GPU; `width` links bonded
};

/// Where a figure comes from.
enum class Origin {
  assumed,   ///< from the link's kind, generation and width
  reported,  ///< by the driver, NVML, sysfs or the machine's file
  measured,  ///< by us, on this machine
};

/// An edge between two nodes; both directions carry `bytes_per_s` at once. Flows in one direction share it.
struct Link {
  int a = 0;  ///< index into Machine::nodes
  int b = 0;
  LinkKind kind = LinkKind::pcie;
  int width = 0;           ///< NVLinks bonded, PCIe lanes; 0 where the word means nothing
  int generation = 0;      ///< NVLink or PCIe generation; 0 unknown
  double bytes_per_s = 0;  ///< per direction: what one large copy gets, not the signalling rate
  double latency_s = 0;
  Origin origin = Origin::assumed;

  friend bool operator==(const Link&, const Link&) = default;
};

enum class Claim { unknown, no, yes };

/// What is known of one ordered pair of GPUs: may `from` reach the memory of `to`?
struct Pair {
  int from = 0;  ///< GPU ordinals
  int to = 0;
  std::string letters;             ///< NVIDIA's: "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"; "XGMI" between AMD GPUs
  int nvlinks = 0;                 ///< bonded links on the way, 0 for none
  Claim access = Claim::unknown;   ///< what the driver claims
  Claim atomics = Claim::unknown;  ///< native atomics over this way
  std::string why_not;             ///< where access is `no`: the sentence

  friend bool operator==(const Pair&, const Pair&) = default;
};

/// How near a NIC stands to a GPU.
struct Nearness {
  int nic = 0;          ///< index within the NICs
  int gpu = 0;          ///< ordinal
  std::string letters;  ///< "PIX", "PXB", "PHB", "NODE", "SYS"

  friend bool operator==(const Nearness&, const Nearness&) = default;
};

/// The NICs that stand nearest to a GPU, all of them equally near.
struct NearestNics {
  std::string letters;    ///< empty where nobody can say: no NIC, or not every NIC's place is known
  std::vector<int> nics;  ///< indices within the NICs, ascending
};

/// What the CPUs do with bytes here; one worker is one thread.
struct HostRates {
  double cpu_copy_bytes_per_s = 10e9;   ///< one worker, memory to memory
  double file_read_bytes_per_s = 4e9;   ///< one worker
  double file_write_bytes_per_s = 2e9;  ///< one worker
  int workers = 4;                      ///< worth using at once
  Origin origin = Origin::assumed;

  friend bool operator==(const HostRates&, const HostRates&) = default;
};

struct Machine {
  std::string name;      ///< "this machine", the preset's name, or the file's
  bool live = false;     ///< true only for the machine this process runs on; a loaded one is never live
  std::string source;    ///< the file it was loaded from; empty for this machine and for presets
  std::string driver;    ///< "580.159.04"; empty unknown
  int cuda_version = 0;  ///< as cuDriverGetVersion: 13000; 0 unknown or no driver
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<Pair> pairs;     ///< every ordered pair of GPUs that is known
  std::vector<Nearness> near;  ///< every NIC and GPU of which it is known
  HostRates host;
  std::vector<std::string> notes;  ///< what a probe could not tell, sentences

  int gpu_count() const;
  /// Index into `nodes`, or nothing.
  std::optional<int> find(NodeKind kind, int index) const;
  const Node* gpu(int ordinal) const;
  const Pair* pair(int from, int to) const;
  std::vector<int> numa_nodes() const;  ///< operating-system numbers, ascending
  NearestNics nearest_nics(int gpu) const;
};

/// Presets, machine files and their form. Schema `peerlane.machine/1`.
std::vector<std::string_view> preset_names();
Result<Machine> preset(std::string_view name);
std::string to_json(const Machine& machine);
/// Every error names the field by its path ("links[3].bytes_per_s") and says what was expected; broken JSON is named by
/// line and column. Nodes come grouped by kind; `live`, whatever it says, is read as false.
Result<Machine> machine_from_json(std::string_view text, std::string_view source_name);
/// A preset's name, the path of a file that describes a machine, or "-" for standard input; never live. What the file
/// is, its content says: our JSON, `nvidia-smi topo -m`, `topo -p2p`, `nvlink -s` or `-L`, NCCL's topology XML, `lspci
/// -tv`, `-nn` or `-vvv`, `rocm-smi --showtopo`.
Result<Machine> load_machine(const std::string& name_or_path);
/// Several that describe one machine; where they disagree the first is believed, and a note says so.
Result<Machine> load_machine(const std::vector<std::string>& names_or_paths);
/// NCCL's topology XML, as NCCL_TOPO_FILE takes it.
std::string to_nccl_xml(const Machine& machine);

}  // namespace peerlane

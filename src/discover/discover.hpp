#pragma once
/// This machine, live: the driver, NVML, hwloc and sysfs, joined into one Machine. What a probe cannot tell becomes a
/// note, never an error: a laptop without a GPU is a machine too.

#include <string>

#include "peerlane/machine.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::discover {

struct Settings {
  std::string helper;         ///< path of peerlane-probe; empty: beside the program, then the install's libexec
  double helper_seconds = 5;  ///< then it is killed, and a note says so
};

/// `driver` may be null: then `why_no_driver` becomes a note and the machine has no GPU that CUDA can use.
Machine this_machine(const vendor::CudaDriver* driver, const std::string& why_no_driver, const Settings& settings = {});

}  // namespace peerlane::discover

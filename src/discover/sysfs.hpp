#pragma once
/// The few facts that sysfs and procfs tell better than hwloc.

#include <string>
#include <string_view>

#include "discover/facts.hpp"

namespace peerlane::discover {

/// Link speed and width of a PCI device; zeros where the kernel does not know them.
PcieFacts pcie_facts(const std::string& sysfs, const std::string& pci);

/// 5 from "32.0 GT/s PCIe"; 0 from "Unknown".
int pcie_generation(std::string_view speed);

/// "580.159.04" of the kernel module, from /proc/driver/nvidia/version; empty where there is none.
std::string kernel_module_version(const std::string& procfs);

}  // namespace peerlane::discover

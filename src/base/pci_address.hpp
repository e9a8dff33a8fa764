#pragma once
/// One way to write a PCI address, so that the driver, NVML, hwloc and sysfs can be joined by it.

#include <string>
#include <string_view>

namespace peerlane {

/// "0000:1b:00.0" from "00000000:1B:00.0", "0000:1b:00" or "1b:00.0"; empty when it is no PCI address.
std::string pci_address(std::string_view text);

}  // namespace peerlane

#include <cstdio>

#include "base/pci_address.hpp"
#include "discover/probes.hpp"
#include "peerlane/place.hpp"

namespace peerlane::discover {
namespace {

std::string uuid_text(const cu::Uuid& uuid) {
  std::string text = "GPU";
  char digits[3];
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(digits, sizeof digits, "%02x", uuid.bytes[i]);
    text += digits;
  }
  return text;
}

/// Asks the driver about one GPU after another; what it refuses becomes a note.
class Asker {
 public:
  Asker(const vendor::CudaDriver& driver, DriverFacts& facts) : driver_(driver), facts_(facts) {}

  bool succeeded(cu::Status status, const char* call, const std::string& where) {
    if (status == cu::Status::success) return true;
    facts_.notes.push_back(vendor::driver_error(driver_, status, call, where).message());
    return false;
  }

  int attribute(cu::Device device, cu::DeviceAttribute which, const std::string& where) {
    int value = 0;
    return succeeded(driver_.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute", where) ? value : 0;
  }

  /// Claim::unknown when the driver does not answer.
  Claim claim(cu::Status status, int value, const char* call, const std::string& where) {
    if (!succeeded(status, call, where)) return Claim::unknown;
    return value != 0 ? Claim::yes : Claim::no;
  }

  GpuFacts gpu(int ordinal, cu::Device device) {
    const std::string where = to_string(peerlane::gpu(ordinal));
    GpuFacts gpu;
    gpu.ordinal = ordinal;
    char text[256] = {};
    if (succeeded(driver_.cuDeviceGetName(text, sizeof text - 1, device), "cuDeviceGetName", where)) gpu.name = text;
    if (succeeded(driver_.cuDeviceGetPCIBusId(text, sizeof text - 1, device), "cuDeviceGetPCIBusId", where)) {
      gpu.pci = pci_address(text);
    }
    cu::Uuid uuid{};
    if (succeeded(driver_.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid", where)) gpu.uuid = uuid_text(uuid);
    std::size_t memory = 0;
    if (succeeded(driver_.cuDeviceTotalMem(&memory, device), "cuDeviceTotalMem", where)) gpu.memory = memory;
    gpu.compute_major = attribute(device, cu::attribute_compute_major, where);
    gpu.compute_minor = attribute(device, cu::attribute_compute_minor, where);
    gpu.copy_engines = attribute(device, cu::attribute_async_engine_count, where);
    gpu.memory_clock_hz = 1e3 * attribute(device, cu::attribute_memory_clock_khz, where);
    gpu.memory_bus_bits = attribute(device, cu::attribute_memory_bus_width_bits, where);
    return gpu;
  }

  AccessFacts pair(int from, cu::Device from_device, int to, cu::Device to_device) {
    const std::string where = to_string(peerlane::gpu(from)) + " to " + to_string(peerlane::gpu(to));
    AccessFacts pair{from, to};
    int value = 0;
    cu::Status status = driver_.cuDeviceCanAccessPeer(&value, from_device, to_device);
    pair.access = claim(status, value, "cuDeviceCanAccessPeer", where);
    status = driver_.cuDeviceGetP2PAttribute(&value, cu::p2p_native_atomics, from_device, to_device);
    pair.atomics = claim(status, value, "cuDeviceGetP2PAttribute", where);
    return pair;
  }

 private:
  const vendor::CudaDriver& driver_;
  DriverFacts& facts_;
};

struct Opened {
  int ordinal;
  cu::Device device;
};

}  // namespace

DriverFacts driver_facts(const vendor::CudaDriver& driver) {
  DriverFacts facts;
  facts.cuda_version = driver.version;
  Asker asker(driver, facts);
  int count = 0;
  if (!asker.succeeded(driver.cuDeviceGetCount(&count), "cuDeviceGetCount", "")) return facts;

  std::vector<Opened> gpus;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cu::Device device = 0;
    const std::string where = to_string(peerlane::gpu(ordinal));
    if (!asker.succeeded(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet", where)) continue;
    facts.gpus.push_back(asker.gpu(ordinal, device));
    gpus.push_back({ordinal, device});
  }
  for (const Opened& from : gpus) {
    for (const Opened& to : gpus) {
      if (from.ordinal != to.ordinal)
        facts.pairs.push_back(asker.pair(from.ordinal, from.device, to.ordinal, to.device));
    }
  }
  return facts;
}

}  // namespace peerlane::discover

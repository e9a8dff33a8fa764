/// An NVML of two H200 behind an NVSwitch, with eighteen links each, that fails as it is told at build time.

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "vendor/nvml.hpp"

#ifndef STUB_INIT
#define STUB_INIT 0
#endif
#ifndef STUB_ANSWER
#define STUB_ANSWER 0
#endif

namespace nvml = peerlane::nvml;

namespace {

constexpr nvml::Status answer = nvml::Status{STUB_ANSWER};
constexpr unsigned links = 18;
char handles[2];

nvml::Status number(unsigned* out, unsigned value) {
  *out = value;
  return answer;
}

nvml::Status words(char* out, unsigned length, const char* text) {
#ifdef STUB_LIES
  std::memset(out, 0xff, length);  // no end, and no UTF-8
#else
  std::strncpy(out, text, length);
#endif
  return answer;
}

int index_of(nvml::Device device) {
  return reinterpret_cast<char*>(device) == &handles[1];
}

}  // namespace

extern "C" {

nvml::Status nvmlInit_v2() {
#ifdef STUB_HANGS
  for (;;) pause();
#endif
  return nvml::Status{STUB_INIT};
}

#ifndef STUB_NO_COUNT
nvml::Status nvmlDeviceGetCount_v2(unsigned* count) {
#ifdef STUB_CRASHES
  std::abort();
#endif
#ifdef STUB_LIES
  *count = 4'000'000'000u;
#else
  *count = 2;
#endif
  return nvml::Status::success;
}
#endif

nvml::Status nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
  if (index > 1) return nvml::Status::invalid_argument;
  *device = reinterpret_cast<nvml::Device>(&handles[index]);
  return nvml::Status::success;
}

#ifndef STUB_BARE
nvml::Status nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return words(text, length, "580.159.04");
}
nvml::Status nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  return words(text, length, "13.580.159.04");
}
nvml::Status nvmlDeviceGetName(nvml::Device, char* text, unsigned length) {
  return words(text, length, "NVIDIA H200");
}
nvml::Status nvmlDeviceGetUUID(nvml::Device device, char* text, unsigned length) {
  return words(
      text, length,
      index_of(device) ? "GPU-00000000-0000-0000-0000-000000000001" : "GPU-00000000-0000-0000-0000-000000000000");
}
nvml::Status nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* info) {
  info->bus = 0x1b + index_of(device);
  return answer;
}
nvml::Status nvmlDeviceGetP2PStatus(nvml::Device, nvml::Device, int index, int* status) {
  *status = index == nvml::p2p_pci ? nvml::p2p_chipset : nvml::p2p_ok;
  return answer;
}
nvml::Status nvmlDeviceGetTopologyCommonAncestor(nvml::Device, nvml::Device, int* level) {
  *level = nvml::topology_node;
  return answer;
}
nvml::Status nvmlDeviceGetNvLinkState(nvml::Device device, unsigned link, int* active) {
  *active = !(index_of(device) == 1 && link == 17);  // one link of the second GPU is down
  return answer;
}
nvml::Status nvmlDeviceGetNvLinkVersion(nvml::Device, unsigned, unsigned* version) {
  return number(version, 6);
}
nvml::Status nvmlDeviceGetNvLinkCapability(nvml::Device, unsigned, int, unsigned* has) {
  return number(has, 1);
}
nvml::Status nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml::Device, unsigned, nvml::PciInfo* info) {
  info->bus = 0x05;
  return answer;
}
nvml::Status nvmlDeviceGetNvLinkRemoteDeviceType(nvml::Device, unsigned, int* type) {
  *type = nvml::remote_switch;
  return answer;
}
nvml::Status nvmlDeviceGetFieldValues(nvml::Device, int count, nvml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].status = nvml::Status::success;
    values[i].type = nvml::type_unsigned;
    switch (values[i].field) {
      case nvml::field_link_count:
        values[i].as_unsigned = links;
        break;
      case nvml::field_link_speed_mb_s:
        values[i].as_unsigned = 26562;
        break;
      default:
        values[i].status = nvml::Status::not_supported;
    }
  }
  return answer;
}
nvml::Status nvmlDeviceGetCurrPcieLinkGeneration(nvml::Device, unsigned* value) {
  return number(value, 1);
}
nvml::Status nvmlDeviceGetCurrPcieLinkWidth(nvml::Device, unsigned* value) {
  return number(value, 16);
}
nvml::Status nvmlDeviceGetMaxPcieLinkGeneration(nvml::Device, unsigned* value) {
  return number(value, 5);
}
nvml::Status nvmlDeviceGetMaxPcieLinkWidth(nvml::Device, unsigned* value) {
  return number(value, 16);
}
nvml::Status nvmlDeviceGetMigMode(nvml::Device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return number(current, 0);
}
nvml::Status nvmlDeviceGetGpuFabricInfoV(nvml::Device, nvml::FabricInfo* info) {
  if (info->version != nvml::fabric_info_version) return nvml::Status::invalid_argument;
  info->state = nvml::fabric_completed;
  info->status = nvml::Status::success;
  return answer;
}
#endif

}  // extern "C"

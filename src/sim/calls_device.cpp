/// cuInit, cuDevice*, cuCtx*.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

#include "sim/world.hpp"

namespace peerlane::sim {
namespace {

using cu::Status;

constexpr std::pair<Status, const char*> status_names[] = {
    {Status::success, "CUDA_SUCCESS"},
    {Status::invalid_value, "CUDA_ERROR_INVALID_VALUE"},
    {Status::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {Status::not_initialized, "CUDA_ERROR_NOT_INITIALIZED"},
    {Status::deinitialized, "CUDA_ERROR_DEINITIALIZED"},
    {Status::stub_library, "CUDA_ERROR_STUB_LIBRARY"},
    {Status::device_unavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {Status::no_device, "CUDA_ERROR_NO_DEVICE"},
    {Status::invalid_device, "CUDA_ERROR_INVALID_DEVICE"},
    {Status::invalid_image, "CUDA_ERROR_INVALID_IMAGE"},
    {Status::invalid_context, "CUDA_ERROR_INVALID_CONTEXT"},
    {Status::map_failed, "CUDA_ERROR_MAP_FAILED"},
    {Status::no_binary_for_gpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {Status::ecc_uncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {Status::peer_access_unsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {Status::nvlink_uncorrectable, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {Status::invalid_handle, "CUDA_ERROR_INVALID_HANDLE"},
    {Status::illegal_state, "CUDA_ERROR_ILLEGAL_STATE"},
    {Status::not_found, "CUDA_ERROR_NOT_FOUND"},
    {Status::not_ready, "CUDA_ERROR_NOT_READY"},
    {Status::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {Status::launch_timeout, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {Status::peer_access_already_enabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {Status::peer_access_not_enabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {Status::context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {Status::too_many_peers, "CUDA_ERROR_TOO_MANY_PEERS"},
    {Status::host_memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {Status::host_memory_not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {Status::hardware_stack_error, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {Status::launch_failed, "CUDA_ERROR_LAUNCH_FAILED"},
    {Status::not_permitted, "CUDA_ERROR_NOT_PERMITTED"},
    {Status::not_supported, "CUDA_ERROR_NOT_SUPPORTED"},
    {Status::system_not_ready, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {Status::system_driver_mismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {Status::stream_capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {Status::stream_capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {Status::unknown, "CUDA_ERROR_UNKNOWN"},
};

constexpr int most_peers_without_nvswitch = 8;

Status copy_text(const std::string& text, char* into, int length) {
  if (into == nullptr || length <= 0) return Status::invalid_value;
  const auto fits = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(into, text.data(), fits);
  into[fits] = '\0';
  return Status::success;
}

std::string pci_of(const Node& node, int ordinal) {
  return node.pci.empty() ? fmt::format("0000:{:02x}:00.0", 0x10 + ordinal) : node.pci;
}

/// "0000:1b:00.0" → domain, bus, device.
int pci_part(const std::string& pci, int part) {
  int parts[3] = {};
  std::sscanf(pci.c_str(), "%x:%x:%x", &parts[0], &parts[1], &parts[2]);
  return parts[part];
}

int multiprocessors(const Node& node) {
  switch (node.compute_major) {
    case 7:
      return node.compute_minor == 0 ? 80 : 72;
    case 8:
      return node.compute_minor == 0 ? 108 : 128;
    case 9:
      return 132;
    default:
      return 148;
  }
}

/// "GPU-" and 32 hexadecimal digits; a GPU whose machine file knows none gets one from its ordinal.
cu::Uuid uuid_of(const Node& node, int ordinal) {
  cu::Uuid uuid{};
  std::string digits;
  for (const char c : node.uuid.starts_with("GPU-") ? node.uuid.substr(4) : node.uuid) {
    if (std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  }
  if (digits.size() != 32) digits = fmt::format("{:032x}", 0x51A0u + ordinal);
  for (std::size_t i = 0; i < 16; ++i) {
    uuid.bytes[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  return uuid;
}

}  // namespace

Status World::cuInit(unsigned flags) {
  if (flags != 0) return Status::invalid_value;
  if (gpus_.empty()) return Status::no_device;
  initialized_ = true;
  return Status::success;
}

Status World::cuDriverGetVersion(int* version) {
  if (version == nullptr) return Status::invalid_value;
  *version = table.version;
  return Status::success;
}

Status World::cuGetErrorName(Status status, const char** name) {
  if (name == nullptr) return Status::invalid_value;
  const auto known = std::ranges::find(status_names, status, &std::pair<Status, const char*>::first);
  *name = known == std::end(status_names) ? nullptr : known->second;
  return *name != nullptr ? Status::success : Status::invalid_value;
}

Status World::cuDeviceGetCount(int* count) {
  if (count == nullptr) return Status::invalid_value;
  *count = static_cast<int>(gpus_.size());
  return Status::success;
}

Status World::cuDeviceGet(cu::Device* device, int ordinal) {
  if (device == nullptr) return Status::invalid_value;
  if (gpu(ordinal) == nullptr) return Status::invalid_device;
  *device = ordinal;
  return Status::success;
}

Status World::cuDeviceGetName(char* name, int length, cu::Device device) {
  if (gpu(device) == nullptr) return Status::invalid_device;
  return copy_text(machine_.gpu(device)->name, name, length);
}

Status World::cuDeviceGetUuid(cu::Uuid* uuid, cu::Device device) {
  if (uuid == nullptr) return Status::invalid_value;
  if (gpu(device) == nullptr) return Status::invalid_device;
  *uuid = uuid_of(*machine_.gpu(device), device);
  return Status::success;
}

Status World::cuDeviceTotalMem(std::size_t* bytes, cu::Device device) {
  if (bytes == nullptr) return Status::invalid_value;
  if (gpu(device) == nullptr) return Status::invalid_device;
  *bytes = gpu(device)->memory;
  return Status::success;
}

Status World::cuDeviceGetPCIBusId(char* id, int length, cu::Device device) {
  if (gpu(device) == nullptr) return Status::invalid_device;
  return copy_text(pci_of(*machine_.gpu(device), device), id, length);
}

Status World::cuDeviceGetAttribute(int* value, cu::DeviceAttribute attribute, cu::Device device) {
  if (value == nullptr) return Status::invalid_value;
  if (gpu(device) == nullptr) return Status::invalid_device;
  const Node& node = *machine_.gpu(device);
  constexpr int bus_width_bits = 5120;
  switch (attribute) {
    case cu::attribute_multiprocessor_count:
      *value = multiprocessors(node);
      break;
    case cu::attribute_integrated:
    case cu::attribute_host_native_atomics:
      *value = 0;
      break;
    case cu::attribute_pci_domain_id:
      *value = pci_part(pci_of(node, device), 0);
      break;
    case cu::attribute_pci_bus_id:
      *value = pci_part(pci_of(node, device), 1);
      break;
    case cu::attribute_pci_device_id:
      *value = pci_part(pci_of(node, device), 2);
      break;
    case cu::attribute_memory_clock_khz:  // two transfers a clock make the memory's rate
      *value = static_cast<int>(roads_.memory_rate(device) * 8 / bus_width_bits / 2 / 1000);
      break;
    case cu::attribute_memory_bus_width_bits:
      *value = bus_width_bits;
      break;
    case cu::attribute_async_engine_count:
      *value = node.copy_engines > 0 ? node.copy_engines : 3;
      break;
    case cu::attribute_compute_major:
      *value = node.compute_major;
      break;
    case cu::attribute_compute_minor:
      *value = node.compute_minor;
      break;
    case cu::attribute_unified_addressing:
    case cu::attribute_host_pointer_for_registered_memory:
    case cu::attribute_stream_wait_value:
    case cu::attribute_virtual_memory_management:
    case cu::attribute_memory_pools:
    case cu::attribute_gpu_direct_rdma:
    case cu::attribute_dma_buf:
      *value = 1;
      break;
    default:
      return Status::invalid_value;
  }
  return Status::success;
}

bool World::can_access(int from, int to) const {
  if (from == to) return false;
  const Pair* pair = machine_.pair(from, to);
  if (pair != nullptr && pair->access != Claim::unknown) return pair->access == Claim::yes;
  return machine::nvlink_path(machine_, from, to).has_value();
}

Status World::cuDeviceCanAccessPeer(int* can, cu::Device device, cu::Device peer) {
  if (can == nullptr) return Status::invalid_value;
  if (gpu(device) == nullptr || gpu(peer) == nullptr) return Status::invalid_device;
  *can = can_access(device, peer) ? 1 : 0;
  return Status::success;
}

Status World::cuDeviceGetP2PAttribute(int* value, cu::P2PAttribute attribute, cu::Device from, cu::Device to) {
  if (value == nullptr) return Status::invalid_value;
  if (gpu(from) == nullptr || gpu(to) == nullptr || from == to) return Status::invalid_device;
  const bool access = can_access(from, to);
  const bool nvlink = access && machine::nvlink_path(machine_, from, to).has_value();
  const Pair* pair = machine_.pair(from, to);
  switch (attribute) {
    case cu::p2p_performance_rank:
      *value = nvlink ? 0 : 1;
      return Status::success;
    case cu::p2p_access:
      *value = access ? 1 : 0;
      return Status::success;
    case cu::p2p_native_atomics:  // never over PCIe, whatever a machine file claims
      *value = nvlink && (pair == nullptr || pair->atomics != Claim::no) ? 1 : 0;
      return Status::success;
    case cu::p2p_arrays:
      *value = nvlink ? 1 : 0;
      return Status::success;
  }
  return Status::invalid_value;
}

Status World::cuDevicePrimaryCtxRetain(cu::Context* context, cu::Device device) {
  if (context == nullptr) return Status::invalid_value;
  Gpu* owner = gpu(device);
  if (owner == nullptr) return Status::invalid_device;
  if (owner->context.error != Status::success) return owner->context.error;
  ++owner->context.references;
  *context = owner->context.handle;
  return Status::success;
}

Status World::cuDevicePrimaryCtxRelease(cu::Device device) {
  Gpu* owner = gpu(device);
  if (owner == nullptr) return Status::invalid_device;
  if (owner->context.references == 0) return Status::invalid_context;
  if (--owner->context.references == 0) leave_with_context(owner->context);
  return Status::success;
}

Status World::cuDevicePrimaryCtxGetState(cu::Device device, unsigned* flags, int* active) {
  if (flags == nullptr || active == nullptr) return Status::invalid_value;
  if (gpu(device) == nullptr) return Status::invalid_device;
  *flags = 0;
  *active = gpu(device)->context.references > 0 ? 1 : 0;
  return Status::success;
}

// The stack is the thread's own and no work of the context's: it can be moved even when the context is dead.

Status World::cuCtxPushCurrent(cu::Context context) {
  Context* known = contexts_.find(context);
  if (known == nullptr || (known->references == 0 && known->error == Status::success)) return Status::invalid_context;
  stack().push_back(known);
  return Status::success;
}

Status World::cuCtxPopCurrent(cu::Context* context) {
  if (stack().empty()) return Status::invalid_context;
  if (context != nullptr) *context = stack().back()->handle;
  stack().pop_back();
  return Status::success;
}

Status World::cuCtxGetCurrent(cu::Context* context) {
  if (context == nullptr) return Status::invalid_value;
  *context = stack().empty() ? nullptr : stack().back()->handle;
  return Status::success;
}

Status World::cuCtxSetCurrent(cu::Context context) {
  auto& contexts = stack();
  if (context == nullptr) {
    if (!contexts.empty()) contexts.pop_back();
    return Status::success;
  }
  Context* known = contexts_.find(context);
  if (known == nullptr || (known->references == 0 && known->error == Status::success)) return Status::invalid_context;
  if (!contexts.empty()) contexts.pop_back();
  contexts.push_back(known);
  return Status::success;
}

Status World::cuCtxGetDevice(cu::Device* device) {
  if (device == nullptr) return Status::invalid_value;
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  *device = context->gpu;
  return Status::success;
}

Status World::cuCtxSynchronize() {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  return wait(*context, [context] {
    return std::ranges::all_of(context->streams, [](const auto& stream) { return stream->queue.empty(); });
  });
}

Status World::cuCtxEnablePeerAccess(cu::Context peer, unsigned flags) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (flags != 0) return Status::invalid_value;
  const Context* owner = contexts_.find(peer);
  if (owner == nullptr || (owner->references == 0 && owner->error == Status::success)) return Status::invalid_context;
  if (owner->error != Status::success) return owner->error;
  if (!can_access(context->gpu, owner->gpu)) return Status::peer_access_unsupported;
  if (context->peers.contains(owner->gpu)) return Status::peer_access_already_enabled;
  const bool has_nvswitch =
      std::ranges::any_of(machine_.nodes, [](const Node& n) { return n.kind == NodeKind::nvswitch; });
  if (!has_nvswitch && context->peers.size() >= most_peers_without_nvswitch) return Status::too_many_peers;
  context->peers.insert(owner->gpu);
  return Status::success;
}

Status World::cuCtxDisablePeerAccess(cu::Context peer) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  const Context* owner = contexts_.find(peer);
  if (owner == nullptr) return Status::invalid_context;
  return context->peers.erase(owner->gpu) > 0 ? Status::success : Status::peer_access_not_enabled;
}

}  // namespace peerlane::sim

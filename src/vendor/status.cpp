#include "vendor/cuda.hpp"

namespace peerlane::vendor {
namespace {

struct Meaning {
  cu::Status status;
  ErrorKind kind;
  const char* hint;
};

constexpr const char* context_hint = "every later call on this GPU fails the same way: end the process";
constexpr const char* gpu_hint = "the kernel log says more (NVRM, Xid); the GPU may need a reset";
constexpr const char* fabric_hint = "start nvidia-fabricmanager, of exactly the driver's version, and see its log";

constexpr Meaning meanings[] = {
    {cu::Status::out_of_memory, ErrorKind::no_memory, "free some, or ask for less"},
    {cu::Status::device_unavailable, ErrorKind::device_lost, "another process may hold the GPU in exclusive mode"},
    {cu::Status::ecc_uncorrectable, ErrorKind::device_lost, gpu_hint},
    {cu::Status::nvlink_uncorrectable, ErrorKind::device_lost, gpu_hint},
    {cu::Status::illegal_address, ErrorKind::device_lost, context_hint},
    {cu::Status::launch_timeout, ErrorKind::device_lost, context_hint},
    {cu::Status::context_is_destroyed, ErrorKind::device_lost, "somebody reset the device's primary context"},
    {cu::Status::hardware_stack_error, ErrorKind::device_lost, context_hint},
    {cu::Status::launch_failed, ErrorKind::device_lost, context_hint},
    {cu::Status::unknown, ErrorKind::device_lost, gpu_hint},
    {cu::Status::no_device, ErrorKind::unavailable, "nvidia-smi shows which GPUs the driver sees"},
    {cu::Status::peer_access_unsupported, ErrorKind::unavailable, "`peerlane map` says why this pair has no peer road"},
    {cu::Status::not_supported, ErrorKind::unavailable, ""},
    {cu::Status::system_not_ready, ErrorKind::unavailable, fabric_hint},
    {cu::Status::system_driver_mismatch, ErrorKind::unavailable, "reload the nvidia modules after a driver update"},
};

}  // namespace

std::string status_name(const CudaDriver& driver, cu::Status status) {
  const std::string number = std::to_string(static_cast<int>(status));
  const char* name = nullptr;
  const bool named = driver.cuGetErrorName != nullptr && driver.cuGetErrorName(status, &name) == cu::Status::success &&
                     name != nullptr;
  return named ? std::string(name) + " (" + number + ")" : "CUDA error " + number;
}

Error driver_error(const CudaDriver& driver, cu::Status status, std::string_view call, std::string where) {
  Error error{ErrorKind::driver, std::string(call) + " answers " + status_name(driver, status), std::move(where), "",
              static_cast<int>(status)};
  for (const Meaning& meaning : meanings) {
    if (meaning.status != status) continue;
    error.kind = meaning.kind;
    error.hint = meaning.hint;
  }
  return error;
}

}  // namespace peerlane::vendor

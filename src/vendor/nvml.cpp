#include "vendor/nvml.hpp"

#include "base/try.hpp"
#include "vendor/shared_library.hpp"

namespace peerlane::vendor {
namespace {

struct StatusWord {
  int status;
  const char* name;
};

constexpr StatusWord status_words[] = {
    {0, "NVML_SUCCESS"},
    {1, "NVML_ERROR_UNINITIALIZED"},
    {2, "NVML_ERROR_INVALID_ARGUMENT"},
    {3, "NVML_ERROR_NOT_SUPPORTED"},
    {4, "NVML_ERROR_NO_PERMISSION"},
    {6, "NVML_ERROR_NOT_FOUND"},
    {9, "NVML_ERROR_DRIVER_NOT_LOADED"},
    {10, "NVML_ERROR_TIMEOUT"},
    {12, "NVML_ERROR_LIBRARY_NOT_FOUND"},
    {13, "NVML_ERROR_FUNCTION_NOT_FOUND"},
    {15, "NVML_ERROR_GPU_IS_LOST"},
    {16, "NVML_ERROR_RESET_REQUIRED"},
    {17, "NVML_ERROR_OPERATING_SYSTEM"},
    {18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"},
    {20, "NVML_ERROR_MEMORY"},
    {25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH"},
    {26, "NVML_ERROR_DEPRECATED"},
    {27, "NVML_ERROR_NOT_READY"},
    {28, "NVML_ERROR_GPU_NOT_FOUND"},
    {999, "NVML_ERROR_UNKNOWN"},
};

const char* init_hint(nvml::Status status) {
  switch (status) {
    case nvml::Status::driver_not_loaded:
      return "load the kernel module: modprobe nvidia";
    case nvml::Status::library_version_mismatch:
      return "reboot or reload the nvidia modules after an update; in a container, use the library of its host";
    case nvml::Status::no_permission:
      return "see who may open /dev/nvidiactl";
    case nvml::Status::gpu_is_lost:
      return "the kernel log says more (NVRM, Xid); the GPU needs a reset or a reboot";
    default:
      return "see whether nvidia-smi works";
  }
}

}  // namespace

std::string status_name(nvml::Status status) {
  const std::string number = std::to_string(static_cast<int>(status));
  for (const StatusWord& word : status_words) {
    if (word.status == static_cast<int>(status)) return std::string(word.name) + " (" + number + ")";
  }
  return "NVML error " + number;
}

Result<Nvml> open_nvml(const std::string& library_path) {
  auto library = PEERLANE_TRY(SharedLibrary::open(library_path, "it comes with NVIDIA's driver"));
  Nvml table;
  table.loaded_from = library.file();
#define PEERLANE_FILL(name, symbol_name, parameters) \
  table.name = reinterpret_cast<decltype(table.name)>(library.symbol(#symbol_name));
  PEERLANE_NVML_CALLS(PEERLANE_FILL)
#undef PEERLANE_FILL

  const char* missing = table.init == nullptr              ? "nvmlInit_v2"
                        : table.device_count == nullptr    ? "nvmlDeviceGetCount_v2"
                        : table.device_by_index == nullptr ? "nvmlDeviceGetHandleByIndex_v2"
                                                           : nullptr;
  if (missing != nullptr) {
    return fail(ErrorKind::unavailable, std::string("the library has no ") + missing, table.loaded_from,
                "install a newer NVIDIA driver");
  }
  library.keep();
  if (const nvml::Status status = table.init(); status != nvml::Status::success) {
    return fail(ErrorKind::unavailable, "nvmlInit_v2 answers " + status_name(status), table.loaded_from,
                init_hint(status), static_cast<int>(status));
  }
  return table;
}

}  // namespace peerlane::vendor

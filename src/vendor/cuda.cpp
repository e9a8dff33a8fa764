#include "vendor/cuda.hpp"

#include "base/try.hpp"
#include "vendor/cuda_loader.hpp"
#include "vendor/host_pages.hpp"
#include "vendor/shared_library.hpp"

namespace peerlane::vendor {
namespace {

constexpr const char* update_hint = "install an NVIDIA driver for CUDA 11.7 or newer (515 or newer)";

struct InitFailure {
  cu::Status status;
  const char* what;
  const char* hint;
};

constexpr InitFailure init_failures[] = {
    {cu::Status::out_of_memory, "the CUDA driver finds no memory to start in",
     "free host memory, or raise this process's memory limit"},
    {cu::Status::stub_library, "the libcuda.so.1 found first is the toolkit's link-time stub, which drives no GPU",
     "take the toolkit's lib64/stubs folder out of LD_LIBRARY_PATH"},
    {cu::Status::device_unavailable, "a GPU is held by another process in exclusive mode",
     "end that process, or ask for the default mode: nvidia-smi -c 0"},
    {cu::Status::no_device, "the CUDA driver is installed but finds no GPU",
     "see whether nvidia-smi lists one, whether CUDA_VISIBLE_DEVICES hides it, and whether this container was given "
     "it"},
    {cu::Status::invalid_device, "the CUDA driver refuses a GPU that it was told to use",
     "see whether CUDA_VISIBLE_DEVICES names a GPU that does not exist"},
    {cu::Status::system_not_ready, "the GPUs wait for their NVSwitch fabric, which is not up",
     "start nvidia-fabricmanager, of exactly the driver's version, and see its log"},
    {cu::Status::system_driver_mismatch, "the driver's library and its kernel module are of different versions",
     "reboot or reload the nvidia modules after an update; in a container, use the libcuda.so.1 of its host"},
    {cu::Status::compat_not_supported, "a forward-compatible libcuda.so.1 was loaded, which this GPU does not take",
     "take the cuda-compat folder out of LD_LIBRARY_PATH"},
    {cu::Status::unknown, "the CUDA driver cannot start and does not know why",
     "see whether /dev/nvidia-uvm exists (nvidia-modprobe -u -c 0 makes it) and what the kernel log says of NVRM or "
     "Xid"},
};

Error init_error(const CudaDriver& driver, cu::Status status) {
  Error error{ErrorKind::unavailable, "cuInit answers " + status_name(driver, status), driver.loaded_from,
              "see whether nvidia-smi works and what the kernel log says of NVRM or Xid", static_cast<int>(status)};
  for (const InitFailure& failure : init_failures) {
    if (failure.status != status) continue;
    error.what = std::string(failure.what) + " (cuInit answers " + status_name(driver, status) + ")";
    error.hint = failure.hint;
  }
  return error;
}

Error not_a_driver(const SharedLibrary& library, const char* symbol) {
  return {ErrorKind::unavailable, std::string("the library has no ") + symbol + ", which every CUDA driver has",
          library.file(), "see which file libcuda.so.1 names: ldconfig -p | grep libcuda"};
}

/// The version stands first: an old driver lacks symbols, and "too old" is the truer sentence.
Result<int> accepted_version(const SharedLibrary& library) {
  // dlsym gives a call's oldest form; this one never changed.
  auto ask = reinterpret_cast<cu::Status (*)(int*)>(library.symbol("cuDriverGetVersion"));
  if (ask == nullptr) return tl::unexpected(not_a_driver(library, "cuDriverGetVersion"));
  int version = 0;
  CudaDriver nameless;
  nameless.loaded_from = library.file();
  if (const cu::Status status = ask(&version); status != cu::Status::success) {
    return tl::unexpected(init_error(nameless, status));
  }
  if (version >= oldest_cuda_version) return version;
  return fail(ErrorKind::unavailable,
              "the driver is for CUDA " + cuda_version_text(version) + "; the oldest that Peerlane takes is CUDA " +
                  cuda_version_text(oldest_cuda_version),
              library.file(), update_hint);
}

/// cuGetProcAddress in whichever of its two forms this driver has.
class Resolver {
 public:
  static Result<Resolver> of(const SharedLibrary& library) {
    Resolver resolver;
    resolver.with_status_ = reinterpret_cast<WithStatus>(library.symbol("cuGetProcAddress_v2"));
    resolver.plain_ = reinterpret_cast<Plain>(library.symbol("cuGetProcAddress"));
    if (resolver.with_status_ || resolver.plain_) return resolver;
    return tl::unexpected(not_a_driver(library, "cuGetProcAddress"));
  }

  /// Null where the driver has no such call in a form of this version or older.
  void* find(const char* name, int version) const {
    void* function = nullptr;
    int symbol_status = 0;
    const cu::Status status =
        with_status_ ? with_status_(name, &function, version, 0, &symbol_status) : plain_(name, &function, version, 0);
    return status == cu::Status::success ? function : nullptr;
  }

 private:
  using Plain = cu::Status (*)(const char*, void**, int, std::uint64_t);
  using WithStatus = cu::Status (*)(const char*, void**, int, std::uint64_t, int*);
  Plain plain_ = nullptr;
  WithStatus with_status_ = nullptr;
};

Result<void> fill_calls(CudaDriver& driver, const Resolver& resolver) {
  const char* missing = nullptr;
#define PEERLANE_FILL(name, oldest, parameters)                                        \
  driver.name = reinterpret_cast<decltype(driver.name)>(resolver.find(#name, oldest)); \
  if (driver.name == nullptr && missing == nullptr) missing = #name;
  PEERLANE_CUDA_CALLS(PEERLANE_FILL)
#undef PEERLANE_FILL
  if (missing == nullptr) return {};
  return fail(ErrorKind::unavailable,
              "the driver, which says it is for CUDA " + cuda_version_text(driver.version) + ", has no " + missing,
              driver.loaded_from, update_hint);
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<CudaDriver> open_cuda(const std::string& library_path) {
  auto library =
      PEERLANE_TRY(SharedLibrary::open(library_path, "install NVIDIA's driver, or name a simulated machine"));
  CudaDriver driver;
  driver.loaded_from = library.file();
  driver.version = PEERLANE_TRY(accepted_version(library));
  const Resolver resolver = PEERLANE_TRY(Resolver::of(library));
  if (const auto filled = fill_calls(driver, resolver); !filled) return tl::unexpected(filled.error());
  driver.host_pages = host_pages;
  driver.free_host_pages = free_host_pages;

  // A driver that was started, even in vain, may have threads of its own: its code must not go away under them.
  library.keep();
  if (const cu::Status status = driver.cuInit(0); status != cu::Status::success) {
    return tl::unexpected(init_error(driver, status));
  }
  return driver;
}

Result<const CudaDriver*> load_cuda() {
  static const Result<CudaDriver> driver = open_cuda("libcuda.so.1");
  if (!driver) return tl::unexpected(driver.error());
  return &*driver;
}

}  // namespace peerlane::vendor

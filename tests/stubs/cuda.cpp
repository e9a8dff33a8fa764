/// A libcuda that fails as it is told at build time. Every call answers success and does nothing.

#include <cstdint>
#include <cstring>

#include "vendor/cuda.hpp"

#ifndef STUB_VERSION
#define STUB_VERSION 13000
#endif
#ifndef STUB_VERSION_STATUS
#define STUB_VERSION_STATUS 0
#endif
#ifndef STUB_INIT
#define STUB_INIT 0
#endif
#ifndef STUB_MISSING
#define STUB_MISSING ""
#endif

namespace cu = peerlane::cu;

extern "C" {

cu::Status cuDriverGetVersion(int* version) {
  *version = STUB_VERSION;
  return cu::Status{STUB_VERSION_STATUS};
}

static cu::Status init(unsigned) {
  return cu::Status{STUB_INIT};
}

static cu::Status error_name(cu::Status status, const char** name) {
  *name = "CUDA_ERROR_OF_THE_STUB";
  return static_cast<int>(status) < 2000 ? cu::Status::success : cu::Status::invalid_value;
}

static cu::Status nothing() {
  return cu::Status::success;
}

static void* find(const char* name, int version) {
  struct Call {
    const char* name;
    int version;
  };
#define STUB_CALL(name, version, parameters) {#name, version},
  static constexpr Call calls[] = {PEERLANE_CUDA_CALLS(STUB_CALL)};
#undef STUB_CALL
  if (std::strcmp(name, STUB_MISSING) == 0) return nullptr;
  if (std::strcmp(name, "cuInit") == 0) return reinterpret_cast<void*>(init);
  if (std::strcmp(name, "cuDriverGetVersion") == 0) return reinterpret_cast<void*>(cuDriverGetVersion);
  if (std::strcmp(name, "cuGetErrorName") == 0) return reinterpret_cast<void*>(error_name);
  for (const Call& call : calls) {
    if (std::strcmp(name, call.name) == 0 && version == call.version) return reinterpret_cast<void*>(nothing);
  }
  return nullptr;
}

#ifndef STUB_NO_LOOKUP
cu::Status cuGetProcAddress(const char* name, void** function, int version, std::uint64_t) {
  *function = find(name, version);
  return *function != nullptr ? cu::Status::success : cu::Status::not_found;
}

#ifndef STUB_FIRST_FORM
/// As the real one: a missing call is success with a null function, and only the last parameter says so.
cu::Status cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t, int* symbol_status) {
  *function = find(name, version);
  *symbol_status = *function != nullptr ? 0 : 1;
  return cu::Status::success;
}
#endif
#endif

}  // extern "C"

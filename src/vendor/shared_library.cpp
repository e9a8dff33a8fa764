#include "vendor/shared_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace peerlane::vendor {

Result<SharedLibrary> SharedLibrary::open(const std::string& path, std::string hint) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle, path);
  const char* words = dlerror();
  std::string reason = words != nullptr ? words : "the loader gives no reason";
  if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
  return fail(ErrorKind::unavailable, "the library cannot be loaded: " + reason, path, std::move(hint));
}

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_.get(), name);
}

std::string SharedLibrary::file() const {
  link_map* map = nullptr;
  if (dlinfo(handle_.get(), RTLD_DI_LINKMAP, &map) != 0 || map->l_name == nullptr || *map->l_name == '\0') return path_;
  return map->l_name;
}

void SharedLibrary::Close::operator()(void* handle) const {
  dlclose(handle);
}

}  // namespace peerlane::vendor

#pragma once
/// A library opened at run time; closed when dropped, unless kept.

#include <memory>
#include <string>

#include "peerlane/result.hpp"

namespace peerlane::vendor {

class SharedLibrary {
 public:
  /// `unavailable` with the loader's own words. `hint` goes into the error.
  static Result<SharedLibrary> open(const std::string& path, std::string hint);

  void* symbol(const char* name) const;
  /// The file it really came from; the path that was asked for where that cannot be told.
  std::string file() const;
  /// Leaves it loaded for the rest of the process.
  void keep() { static_cast<void>(handle_.release()); }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  std::unique_ptr<void, Close> handle_;
  std::string path_;
};

}  // namespace peerlane::vendor

#pragma once
/// A region looks at bytes; a buffer owns them.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "peerlane/place.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

class File;

/// A span of bytes at a place. Looks, never owns: whoever made the memory or opened the file keeps it.
struct Region {
  Place place;
  std::uint64_t address = 0;  ///< virtual address in memory; byte offset in a file
  Bytes bytes = 0;
  File* file = nullptr;  ///< only where place is `file`

  std::byte* data() const { return reinterpret_cast<std::byte*>(address); }
  /// `count` bytes from `offset` on. The caller keeps inside the region.
  Region slice(Bytes offset, Bytes count) const { return {place, address + offset, count, file}; }
};

/// Owns a region of memory and gives it back when dropped. Move-only.
///
/// A buffer that a stuck engine may still write to is not given back: the session keeps it leased until the engine
/// lets go, and for ever if it never does.
class Buffer {
 public:
  /// Gives memory back; outlives the session that made it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void release(const Region& region) noexcept = 0;
  };

  Buffer() = default;
  Buffer(Region region, std::shared_ptr<Owner> owner) : region_(region), owner_(std::move(owner)) {}
  Buffer(Buffer&& other) noexcept : region_(other.region_), owner_(std::move(other.owner_)) { other.region_ = {}; }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      region_ = other.region_;
      owner_ = std::move(other.owner_);
      other.region_ = {};
    }
    return *this;
  }
  ~Buffer() { reset(); }

  void reset() noexcept {
    if (auto owner = std::move(owner_)) owner->release(region_);
    owner_.reset();
    region_ = {};
  }

  const Region& region() const { return region_; }
  operator const Region&() const {
    return region_;
  }  // NOLINT(google-explicit-constructor): a buffer is seen as its region
  std::byte* data() const { return region_.data(); }
  Bytes bytes() const { return region_.bytes; }

 private:
  Region region_;
  std::shared_ptr<Owner> owner_;
};

}  // namespace peerlane

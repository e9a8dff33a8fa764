#pragma once
/// Where bytes can live.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "peerlane/result.hpp"

namespace peerlane {

enum class PlaceKind : std::uint8_t {
  gpu,   ///< memory of one GPU
  host,  ///< pinned host memory, on one NUMA node
  mem,   ///< pageable host memory
  file,  ///< a file; which one is told by the region
};

/// `gpu:0`, `host` (pinned, any node), `host:1` (pinned, NUMA node 1), `mem`, `file`.
struct Place {
  static constexpr int any = -1;

  PlaceKind kind = PlaceKind::mem;
  int index = any;  ///< GPU ordinal or NUMA node; `any` where neither was named

  friend auto operator<=>(const Place&, const Place&) = default;
};

constexpr Place gpu(int ordinal) {
  return {PlaceKind::gpu, ordinal};
}
constexpr Place host(int node = Place::any) {
  return {PlaceKind::host, node};
}
constexpr Place mem() {
  return {PlaceKind::mem, Place::any};
}
constexpr Place file() {
  return {PlaceKind::file, Place::any};
}

/// "gpu:0", "host", "host:1", "mem", "file".
std::string to_string(Place place);

/// A place as a person types it, with the path that only `file:PATH` has.
struct NamedPlace {
  Place place;
  std::string path;
};

/// Reads "gpu:0", "host", "host:1", "mem" or "file:PATH". Knows no machine: whether gpu:9 exists is asked elsewhere.
Result<NamedPlace> parse_place(std::string_view text);

}  // namespace peerlane

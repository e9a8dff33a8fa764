#pragma once
/// Moves the bytes of operations, with whatever the faults do to them on the way.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/objects.hpp"
#include "sim/random.hpp"

namespace peerlane::sim {

/// Pieces of an allocation as somebody else sees them; a later piece covers an earlier one.
class Pieces {
 public:
  void put(Bytes offset, std::span<const std::byte> bytes);
  void cut(Bytes offset, Bytes count);
  /// Lays what is known of [offset, offset + into.size()) over `into`; false when nothing is.
  bool lay_over(Bytes offset, std::span<std::byte> into) const;

 private:
  std::map<Bytes, std::vector<std::byte>> pieces_;  // disjoint
};

class ByteMover {
 public:
  explicit ByteMover(Random& chance) : chance_(chance) {}

  /// Carries `bytes` the way that `effects` lets them go. `issuer` is the GPU whose engine does it.
  void copy(const End& from, const End& to, Bytes bytes, const Effects& effects, int issuer);
  void fill(const End& to, std::byte value, Bytes bytes, const Effects& effects, int issuer);
  /// What a kernel of `gpu` reads there, and writes there.
  std::vector<std::byte> read(const End& from, Bytes bytes, Place reader, const Effects& effects, int issuer);
  void write(const End& to, std::span<const std::byte> bytes, Place writer, const Effects& effects);
  /// As `write`, for bytes that were not read over a link that could have struck them.
  void write_struck(const End& to, std::vector<std::byte> bytes, Place writer, const Effects& effects);
  /// True when a plain pointer to the bytes shows what a reader sees, and writing through it is all there is to it.
  bool is_plain(const Effects& effects) const { return !effects.touch_bytes() && !keeps_history_ && mirrors_.empty(); }

  /// A kernel is about to write all of it, plainly.
  static void prepare(const End& to, Bytes bytes);

  void keep_history() { keeps_history_ = true; }
  void forget(const Memory& memory);

 private:
  struct MirrorKey {
    Place writer;
    std::uint64_t memory;
    auto operator<=>(const MirrorKey&) const = default;
  };
  bool lay_history_over(const End& from, std::span<std::byte> into) const;
  void lay_mirror_over(const End& from, std::span<std::byte> into, Place reader, int issuer) const;
  void land(const End& to, std::span<const std::byte> bytes);
  std::optional<End> elsewhere(const End& to, Bytes bytes);
  void corrupt(std::span<std::byte> bytes);

  Random& chance_;
  bool keeps_history_ = false;
  std::map<std::uint64_t, Pieces> history_;  // what memory held before its last writes
  std::map<MirrorKey, Pieces> mirrors_;      // what a writer believes to have written
};

}  // namespace peerlane::sim

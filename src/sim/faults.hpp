#pragma once
/// What is made to go wrong, and when: KIND:WHERE[:N].

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peerlane/machine.hpp"
#include "peerlane/result.hpp"
#include "sim/roads.hpp"

namespace peerlane::sim {

enum class FaultKind { corrupt, drop, misdirect, mirror, stale, stuck, lost, fail };

/// What strikes one operation.
struct Effects {
  bool corrupt = false;
  bool drop = false;
  bool misdirect = false;
  bool mirror = false;
  bool stale = false;
  bool stuck = false;

  bool touch_bytes() const { return corrupt || drop || misdirect || mirror || stale; }
};

/// In the table, but not a call of the driver's.
inline constexpr std::string_view host_pages_call = "host_pages";

class Faults {
 public:
  /// `invalid_argument` names the word that is wrong and lists the good ones.
  Result<void> add(const std::string& text, const Machine& machine);

  /// Counts one operation that goes these ways, issued by an engine of `gpu`.
  Effects strike(std::span<const Way> ways, int gpu);
  /// Counts one operation of this GPU; true from the moment on at which it is lost.
  bool lose(int gpu);
  /// Lost from the start: nothing has to run there first.
  bool lost_from_start(int gpu) const;
  /// Counts one call; true when it is to fail.
  bool fails(std::string_view call);

  /// Somebody wants to know what memory held before: histories have to be kept.
  bool any_stale() const { return any_stale_; }

 private:
  struct Fault {
    FaultKind kind = FaultKind::corrupt;
    std::optional<Place> from;  ///< with `to`: a directed hop
    Place to;                   ///< alone: a place
    std::string call;
    std::uint64_t nth = 0;  ///< 0: every time
    std::uint64_t seen = 0;
  };
  static bool matches(const Fault& fault, std::span<const Way> ways, int gpu);
  static bool due(Fault& fault) { return ++fault.seen == fault.nth || fault.nth == 0; }

  std::vector<Fault> faults_;
  bool any_stale_ = false;
};

}  // namespace peerlane::sim

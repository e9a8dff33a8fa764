#pragma once
/// Whether two declarations, ours and the vendor's, mean the same to the machine.

#include <cstddef>
#include <type_traits>
#include <utility>

#define SAME(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))
#define SAME_LAYOUT(ours, theirs) \
  static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs) && std::is_standard_layout_v<ours>)
#define SAME_FIELD(ours, field, theirs, their_field)                      \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) && \
                sizeof(std::declval<ours>().field) == sizeof(std::declval<theirs>().their_field))

namespace peerlane::vendor {

/// How the calling convention sees a type: what it is, and how wide.
enum class Passed { integer, floating, pointer, other };

template <class T>
constexpr Passed passed() {
  if (std::is_pointer_v<T>) return Passed::pointer;
  if (std::is_floating_point_v<T>) return Passed::floating;
  return std::is_integral_v<T> || std::is_enum_v<T> ? Passed::integer : Passed::other;
}

template <class T>
concept Measurable = std::is_object_v<T> && requires {
  sizeof(T);
};

/// The same register, and for a pointer the same width of what it points to, as far as both headers tell.
template <class Ours, class Theirs>
constexpr bool same_parameter() {
  if (passed<Ours>() != passed<Theirs>() || sizeof(Ours) != sizeof(Theirs)) return false;
  using OurTarget = std::remove_pointer_t<Ours>;
  using TheirTarget = std::remove_pointer_t<Theirs>;
  if constexpr (std::is_pointer_v<Ours> && Measurable<OurTarget> && Measurable<TheirTarget>) {
    return sizeof(OurTarget) == sizeof(TheirTarget) && std::is_const_v<OurTarget> == std::is_const_v<TheirTarget>;
  }
  return true;
}

template <class Ours, class Theirs>
struct SameCall : std::false_type {};

template <class Result, class... Ours, class TheirResult, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct SameCall<Result (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<same_parameter<Result, TheirResult>() && (same_parameter<Ours, Theirs>() && ...)> {
};

}  // namespace peerlane::vendor

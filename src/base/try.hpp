#pragma once

#include <type_traits>
#include <utility>

#include "peerlane/result.hpp"

namespace peerlane::detail {
template <class T>
T take(Result<T>& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}
}  // namespace peerlane::detail

/// The value of a Result, or return its error from this function: `auto n = PEERLANE_TRY(parse(text));`
#define PEERLANE_TRY(...)                                                            \
  __extension__({                                                                    \
    auto peerlane_result = (__VA_ARGS__);                                            \
    if (!peerlane_result) return tl::unexpected(std::move(peerlane_result).error()); \
    peerlane::detail::take(peerlane_result);                                         \
  })

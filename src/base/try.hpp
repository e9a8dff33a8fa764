#pragma once

#include "peerlane/result.hpp"

/// The value of a Result, or return its error from this function: `auto n = PEERLANE_TRY(parse(text));`
#define PEERLANE_TRY(...)                                                              \
  __extension__({                                                                      \
    auto peerlane_result = (__VA_ARGS__);                                              \
    if (!peerlane_result) return tl::unexpected(std::move(peerlane_result).error());   \
    *std::move(peerlane_result);                                                       \
  })

#pragma once
/// Figures as people read them, and back.

#include <string>
#include <string_view>
#include <vector>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane {

/// "1 GiB", "1.5 MiB", "4097 B": binary units, exact where that is short, else one decimal.
std::string format_bytes(Bytes bytes);
/// "396 GB/s", "37.6 GB/s", "1.2 MB/s": decimal units, three digits.
std::string format_rate(double bytes_per_s);
/// "2.71 ms", "1.86 µs", "12.3 s": three digits.
std::string format_seconds(double seconds);

/// "64MiB", "1GB", "4096", "1.5GiB", "7 KiB". Refuses negative, empty, unknown units, fractions of a byte, overflow.
Result<Bytes> parse_bytes(std::string_view text);
/// "2s", "250ms", "100us", "1.5s", "2m". Refuses negative, empty, a number without its unit, overflow.
Result<double> parse_seconds(std::string_view text);

/// A foreign word for a message: in double quotes, control bytes and broken UTF-8 escaped, shortened past 80 bytes.
std::string quote(std::string_view text);

/// "a, b and c"
std::string join(const std::vector<std::string>& words, std::string_view last = " and ");

}  // namespace peerlane

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/try.hpp"

namespace peerlane {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array rate_units = {Unit{"TB/s", 1e12}, Unit{"GB/s", 1e9}, Unit{"MB/s", 1e6}, Unit{"kB/s", 1e3},
                                   Unit{"B/s", 1}};
constexpr std::array time_units = {Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"µs", 1e-6}, Unit{"ns", 1e-9}};

/// Three digits in the largest unit that the rounded figure fills; zero in `base`.
template <std::size_t N>
std::string three_digits(double value, const std::array<Unit, N>& units, const Unit& base) {
  if (!std::isfinite(value)) return "unknown";
  if (value == 0) return fmt::format("0 {}", base.name);
  // 999.5 of a unit would be printed as 1000: that is 1 of the next.
  const auto fills = [&](const Unit& unit) { return std::abs(value) >= unit.factor * 0.9995; };
  const auto found = std::find_if(units.begin(), units.end(), fills);
  const Unit& unit = found == units.end() ? units.back() : *found;
  const double figure = value / unit.factor;
  return std::abs(figure) < 999.5 ? fmt::format("{:.3g} {}", figure, unit.name)
                                  : fmt::format("{:.0f} {}", figure, unit.name);
}

struct ByteUnit {
  std::string_view name;
  Bytes bytes;
};

constexpr std::array byte_units = {ByteUnit{"EiB", 1ull << 60},
                                   ByteUnit{"PiB", 1ull << 50},
                                   ByteUnit{"TiB", 1ull << 40},
                                   ByteUnit{"GiB", 1ull << 30},
                                   ByteUnit{"MiB", 1ull << 20},
                                   ByteUnit{"KiB", 1ull << 10},
                                   ByteUnit{"B", 1}};
constexpr std::array decimal_byte_units = {ByteUnit{"TB", 1'000'000'000'000}, ByteUnit{"GB", 1'000'000'000},
                                           ByteUnit{"MB", 1'000'000}, ByteUnit{"KB", 1'000}};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "1.5 GiB" as digits before and after the point, and the unit's word.
struct Quantity {
  std::string_view whole;
  std::string_view fraction;
  std::string_view unit;
};

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

Result<Quantity> split_quantity(std::string_view text) {
  const auto refuse = [](const char* why) { return fail(ErrorKind::invalid_argument, why); };
  if (text.empty()) return refuse("it is empty");
  if (text.front() == '-') return refuse("it cannot be negative");
  Quantity quantity;
  quantity.whole = take_digits(text);
  if (quantity.whole.empty()) return refuse("it does not begin with a digit");
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    quantity.fraction = take_digits(text);
    if (quantity.fraction.empty()) return refuse("no digit follows the point");
  }
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  quantity.unit = text;
  return quantity;
}

Result<Bytes> whole_number(std::string_view digits) {
  constexpr Bytes most = std::numeric_limits<Bytes>::max();
  Bytes value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<Bytes>(c - '0');
    if (value > (most - digit) / 10) return fail(ErrorKind::invalid_argument, "it does not fit in 64 bits");
    value = value * 10 + digit;
  }
  return value;
}

__extension__ using Wide = unsigned __int128;

/// `0.fraction × unit`, exactly.
Result<Bytes> fraction_of(std::string_view fraction, Bytes unit) {
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  if (fraction.size() > 18) return fail(ErrorKind::invalid_argument, "it has more than 18 digits after the point");
  Wide scale = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
  const Wide product = Wide{PEERLANE_TRY(whole_number(fraction))} * unit;
  if (product % scale != 0) return fail(ErrorKind::invalid_argument, "it is not a whole number of bytes");
  return static_cast<Bytes>(product / scale);
}

Result<Bytes> byte_unit(std::string_view word) {
  if (word.empty()) return Bytes{1};
  for (const ByteUnit& unit : byte_units) {
    if (same_word(unit.name, word)) return unit.bytes;
  }
  for (const ByteUnit& unit : decimal_byte_units) {
    if (same_word(unit.name, word)) return unit.bytes;
  }
  return fail(ErrorKind::invalid_argument, "unknown unit " + quote(word));
}

Result<Bytes> to_bytes(const Quantity& quantity) {
  const Bytes unit = PEERLANE_TRY(byte_unit(quantity.unit));
  const Wide whole = Wide{PEERLANE_TRY(whole_number(quantity.whole))} * unit;
  const Wide total = whole + PEERLANE_TRY(fraction_of(quantity.fraction, unit));
  if (total > std::numeric_limits<Bytes>::max()) {
    return fail(ErrorKind::invalid_argument, "it does not fit in 64 bits");
  }
  return static_cast<Bytes>(total);
}

Result<double> second_unit(std::string_view word) {
  constexpr std::array units = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"µs", 1e-6}, Unit{"ms", 1e-3},
                                Unit{"s", 1},     Unit{"m", 60},    Unit{"min", 60},  Unit{"h", 3600}};
  if (word.empty()) return fail(ErrorKind::invalid_argument, "its unit is missing");
  for (const Unit& unit : units) {
    if (unit.name == word) return unit.factor;
  }
  return fail(ErrorKind::invalid_argument, "unknown unit " + quote(word));
}

Result<double> to_seconds(const Quantity& quantity) {
  constexpr double longest = 1e9;  // 31 years: what comes after still fits in nanoseconds
  const double unit = PEERLANE_TRY(second_unit(quantity.unit));
  const std::string digits = fmt::format("{}.{}", quantity.whole, quantity.fraction);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || number * unit > longest) {
    return fail(ErrorKind::invalid_argument, "it is longer than 31 years");
  }
  return number * unit;
}

constexpr std::string_view size_forms = "a size is 4096, 64MiB, 1.5GiB or 1GB";
constexpr std::string_view duration_forms = "a duration is 2s, 250ms, 100us, 1.5s or 2m";

/// Reads `text` by `convert`, whose sentence then names the text and the forms.
template <class Convert>
auto read_quantity(std::string_view text, std::string_view noun, std::string_view forms, Convert convert)
    -> decltype(convert(Quantity{})) {
  auto value = split_quantity(text).and_then(convert);
  if (value) return value;
  Error error = std::move(value).error();
  error.where = fmt::format("{} {}", noun, quote(text));
  error.hint = forms;
  return tl::unexpected(std::move(error));
}

/// Length of the valid UTF-8 sequence at the front, 0 where there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies past U+10FFFF show in the second byte.
  const unsigned char second = byte(1);
  const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                   (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  constexpr Bytes short_figure = 10'000;
  for (const auto& [name, unit] : byte_units) {
    const Bytes whole = bytes / unit;
    const Bytes tenths = bytes % unit * 10 / unit;
    const bool exact = bytes % unit * 10 % unit == 0;
    if (whole == 0 || whole >= short_figure || !exact) continue;
    return tenths == 0 ? fmt::format("{} {}", whole, name) : fmt::format("{}.{} {}", whole, tenths, name);
  }
  for (const auto& [name, unit] : byte_units) {
    // 1023.95 of a unit would be printed as 1024.0: that is 1.0 of the next.
    const double figure = static_cast<double>(bytes) / static_cast<double>(unit);
    if (figure >= 1023.95 / 1024) return fmt::format("{:.1f} {}", figure, name);
  }
  return "0 B";
}

std::string format_rate(double bytes_per_s) {
  return three_digits(bytes_per_s, rate_units, rate_units.back());
}

std::string format_seconds(double seconds) {
  return three_digits(seconds, time_units, time_units.front());
}

Result<Bytes> parse_bytes(std::string_view text) {
  return read_quantity(text, "size", size_forms, to_bytes);
}

Result<double> parse_seconds(std::string_view text) {
  return read_quantity(text, "duration", duration_forms, to_seconds);
}

std::string quote(std::string_view text) {
  constexpr std::size_t longest = 80;
  const std::size_t full_size = text.size();
  std::string out = "\"";
  while (!text.empty() && out.size() < longest) {
    const std::size_t length = utf8_length(text);
    const bool printable = length > 1 || (length == 1 && text[0] >= ' ' && text[0] != '\x7f');
    if (!printable) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      if (text[0] == '"' || text[0] == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
  if (!text.empty()) out += fmt::format("… ({} bytes)", full_size);
  return out;
}

std::string join(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace peerlane

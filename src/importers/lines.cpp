#include "importers/lines.hpp"

#include <charconv>

namespace peerlane::importers {
namespace {

constexpr std::size_t longest_line = 65536;
constexpr std::size_t most_lines = 100'000;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view no_break_space = "\xc2\xa0";

/// Length of the UTF-8 sequence that begins here; 0: it is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

/// Length of a colour or the like, "ESC[4m" or what is left of it when the ESC byte was lost: "[4m", "[0;1m", "[0m".
std::size_t escape_length(std::string_view text) {
  const bool whole = text.starts_with("\x1b[");
  if (!whole && !text.starts_with('[')) return text.starts_with('\x1b') ? 1 : 0;
  std::size_t at = whole ? 2 : 1;
  while (at < text.size() && (text[at] == ';' || text[at] == '?' || (text[at] >= '0' && text[at] <= '9'))) ++at;
  if (at == text.size()) return whole ? at : 0;
  const bool letter = text[at] >= '@' && text[at] <= '~';
  if (whole) return letter ? at + 1 : at;
  return text[at] == 'm' && at > 1 ? at + 1 : 0;
}

/// "> > " of a mail that was answered.
std::size_t quote_length(std::string_view line) {
  std::size_t taken = 0;
  while (taken < line.size() && line[taken] == '>') {
    ++taken;
    if (taken < line.size() && line[taken] == ' ' && (taken + 1 == line.size() || line[taken + 1] != ' ')) ++taken;
  }
  return taken;
}

std::string without_escapes(std::string_view line) {
  std::string text;
  text.reserve(line.size());
  while (!line.empty()) {
    if (const std::size_t length = escape_length(line); length > 0) {
      line.remove_prefix(length);
    } else if (line.starts_with(no_break_space)) {
      text += ' ';
      line.remove_prefix(no_break_space.size());
    } else {
      text += line.front();
      line.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace

Result<std::vector<Line>> clean_lines(const Text& text) {
  std::vector<Line> lines;
  std::string_view rest = text.text;
  if (rest.starts_with(byte_order_mark)) rest.remove_prefix(byte_order_mark.size());
  while (!rest.empty()) {
    const std::size_t number = lines.size() + 1;
    if (number > most_lines) return unreadable(text, number, 1, "more than 100000 lines are not read");
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.size() > longest_line) {
      return unreadable(text, number, longest_line + 1, "a line of more than 64 KiB is not read");
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t length = line[at] == '\0' ? 0 : sequence_length(line.substr(at));
      if (length == 0) {
        return unreadable(text, number, at + 1,
                          line[at] == '\0' ? "a zero byte: this is no text" : "a byte that is no UTF-8: this is no text");
      }
      at += length;
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t quoted = quote_length(line);
    lines.push_back({number, quoted, without_escapes(line.substr(quoted)), end != std::string_view::npos});
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view space = " \t\v\f\r";
  for (std::size_t at = line.find_first_not_of(space); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(space, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(space, end);
  }
  return words;
}

std::optional<int> number_of(std::string_view digits, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && digits[0] != '-';
  return whole && number <= most ? std::optional(number) : std::nullopt;
}

std::optional<int> numbered(std::string_view word, std::string_view prefix, int most) {
  return word.starts_with(prefix) ? number_of(word.substr(prefix.size()), most) : std::nullopt;
}

}  // namespace peerlane::importers

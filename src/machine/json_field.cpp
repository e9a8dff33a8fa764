#include "machine/json_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/try.hpp"

namespace peerlane::machine {

Field Field::member(std::string_view key) const {
  std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  if (value_ == nullptr || !value_->is_object()) return {nullptr, std::move(path)};
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, std::move(path)};
}

Result<void> Field::is_object() const {
  if (!present() || !value_->is_object()) return expected("an object");
  return {};
}

std::vector<std::string> Field::keys() const {
  std::vector<std::string> keys;
  if (value_ == nullptr || !value_->is_object()) return keys;
  for (const auto& [key, value] : value_->items()) keys.push_back(key);
  return keys;
}

Result<std::vector<Field>> Field::elements(std::size_t most) const {
  std::vector<Field> fields;
  if (!present()) return fields;
  if (!value_->is_array()) return expected("a list");
  if (value_->size() > most) return wrong(fmt::format("expected at most {} elements, got {}", most, value_->size()));
  fields.reserve(value_->size());
  for (const Json& element : *value_) fields.emplace_back(&element, fmt::format("{}[{}]", path_, fields.size()));
  return fields;
}

Result<std::string> Field::text(std::optional<std::string> absent) const {
  if (!present() && absent) return *std::move(absent);
  const auto* text = present() ? value_->get_ptr<const std::string*>() : nullptr;
  if (text == nullptr) return expected("a text");
  if (text->find('\0') != std::string::npos) return expected("a text without zero bytes");
  return *text;
}

Result<double> Field::number(const Range& range, std::optional<double> absent) const {
  if (!present() && absent) return *absent;
  if (!present() || !value_->is_number()) return expected(range.words);
  const auto number = value_->get<double>();
  if (!(number >= range.least && number <= range.most)) return expected(range.words);
  return number;
}

Result<int> Field::integer(const Range& range, std::optional<int> absent) const {
  if (!present() && absent) return *absent;
  const double number = PEERLANE_TRY(this->number(range));
  if (number != std::floor(number)) return expected(range.words);
  return static_cast<int>(number);
}

Result<Bytes> Field::bytes(const Range& range, std::optional<Bytes> absent) const {
  if (!present() && absent) return *absent;
  const double number = PEERLANE_TRY(this->number(range));
  if (number != std::floor(number)) return expected(range.words);
  return value_->is_number_float() ? static_cast<Bytes>(number) : value_->get<Bytes>();
}

Result<std::optional<bool>> Field::yes_no_unknown() const {
  if (!present()) return std::optional<bool>();
  if (!value_->is_boolean()) return expected("true, false or null");
  return std::optional(value_->get<bool>());
}

tl::unexpected<Error> Field::expected(std::string_view what) const {
  return wrong(fmt::format("expected {}, got {}", what, got()));
}

tl::unexpected<Error> Field::wrong(std::string what) const {
  return fail(ErrorKind::invalid_argument, std::move(what), path_.empty() ? "the document" : path_);
}

std::string Field::got() const {
  if (value_ == nullptr) return "nothing";
  switch (value_->type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return quote(value_->get_ref<const std::string&>());
    default:
      return value_->dump();
  }
}

namespace {

constexpr int deepest = 64;
/// Twice what the largest machine needs.
constexpr int most_values = 4'000'000;

/// "line 3, column 17" of a byte; columns count characters.
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  const auto is_lead = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return fmt::format("line {}, column {}", lines + 1, std::count_if(line.begin(), line.end(), is_lead) + 1);
}

/// Reads without keeping anything: finds what is wrong with the text before memory is spent on it.
class Checker final : public nlohmann::json_sax<Json> {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  std::optional<Error> error;

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return descend(); }
  bool start_array(std::size_t) override { return descend(); }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
    // The position counts the byte that could not be taken, and at the end of the text the end itself.
    const bool cut = position > text_.size();
    const std::size_t byte = cut ? text_.size() : position - (position > 0);
    return refuse(cut ? "the text ends in the middle" : "not JSON: " + reason(exception.what()),
                  line_and_column(text_, byte));
  }

 private:
  bool count() { return ++values_ <= most_values || refuse(fmt::format("more than {} values", most_values), ""); }

  bool descend() {
    return (++depth_ <= deepest || refuse(fmt::format("nested deeper than {} levels", deepest), "")) && count();
  }

  bool refuse(std::string what, std::string where) {
    error = Error{ErrorKind::invalid_argument, std::move(what), std::move(where), "", 0};
    return false;
  }

  /// The library's sentence without its own number, line and column.
  static std::string reason(std::string_view what) {
    for (const std::string_view opening : {"] ", "column "}) {
      const std::size_t at = what.find(opening);
      if (at != std::string_view::npos) what.remove_prefix(at + opening.size());
    }
    const std::size_t colon = what.find(": ");
    const bool numbered = colon != std::string_view::npos && what.find_first_not_of("0123456789") == colon;
    return std::string(numbered ? what.substr(colon + 2) : what);
  }

  std::string_view text_;
  int depth_ = 0;
  int values_ = 0;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  // The library takes a zero byte for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    return fail(ErrorKind::invalid_argument, "not JSON: a zero byte", line_and_column(text, zero));
  }
  Checker checker(text);
  const bool sound = Json::sax_parse(text, &checker);
  if (checker.error) return tl::unexpected(*std::move(checker.error));
  if (!sound) return fail(ErrorKind::invalid_argument, "not JSON");
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace peerlane::machine

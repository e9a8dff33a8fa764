#pragma once
/// One value of a machine file with its path in it, so that whatever is wrong with it can be said where it stands.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane::machine {

using Json = nlohmann::json;

struct Range {
  double least;
  double most;
  std::string_view words;  ///< "a positive number of bytes per second"
};

class Field {
 public:
  /// `value` null: the file has no such field.
  Field(const Json* value, std::string path) : value_(value), path_(std::move(path)) {}

  /// A field that is missing, or null, is absent. What an absent field means is `absent`; without it, it is an error.
  bool present() const { return value_ != nullptr && !value_->is_null(); }
  const std::string& path() const { return path_; }

  Field member(std::string_view key) const;
  Result<void> is_object() const;
  /// Of an object; none where it is no object.
  std::vector<std::string> keys() const;
  /// None where absent.
  Result<std::vector<Field>> elements(std::size_t most) const;

  Result<std::string> text(std::optional<std::string> absent = {}) const;
  Result<double> number(const Range& range, std::optional<double> absent = {}) const;
  Result<int> integer(const Range& range, std::optional<int> absent = {}) const;
  Result<Bytes> bytes(const Range& range, std::optional<Bytes> absent = {}) const;
  Result<std::optional<bool>> yes_no_unknown() const;

  /// "links[3].bytes_per_s: expected a positive number, got "fast"".
  tl::unexpected<Error> expected(std::string_view what) const;
  tl::unexpected<Error> wrong(std::string what) const;

 private:
  std::string got() const;

  const Json* value_;
  std::string path_;
};

/// The text as JSON; errors name line and column. Bounded in depth and in number of values.
Result<Json> parse_json(std::string_view text);

}  // namespace peerlane::machine

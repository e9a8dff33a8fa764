#pragma once
/// Words become typed values. A bad word ends here, with the list of good ones.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peerlane/session.hpp"

namespace peerlane::cli {

/// What was typed, unread.
struct Words {
  std::vector<std::string> machines;
  std::optional<std::string> size;
  std::optional<std::string> deadline;
  std::optional<std::string> seed;
  std::vector<std::string> faults;
  std::vector<std::string> places;
  std::optional<std::string> svg;
  std::optional<std::string> form;
  bool json = false;
  bool strict = false;
  bool durable = false;
};

/// A place as it was named.
struct Stop {
  std::string name;  ///< "gpu:0", "file:in.bin"
  Place place;
  std::string path;  ///< only of a file

  bool is_file() const { return place.kind == PlaceKind::file; }
};

enum class RecordForm { json, nccl };

/// What is wanted.
struct Request {
  Options options;
  std::vector<std::string> machines;  ///< empty: this machine
  std::vector<Stop> stops;
  std::optional<Bytes> size;
  std::string svg;  ///< path; empty: no drawing is wanted
  RecordForm form = RecordForm::json;
  bool json = false;
  bool durable = false;
};

Result<Request> understand(const Words& words);

/// "gpu:0 → gpu:1"
std::string hop_name(std::string_view from, std::string_view to);

/// "did you mean copy?", or nothing where no word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& good_words);

}  // namespace peerlane::cli

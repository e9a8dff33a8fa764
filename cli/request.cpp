#include "request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace peerlane::cli {

namespace {

/// Reads a word that came with an option, whose name its error then bears.
template <class T>
Result<T> read(std::string_view option, const std::string& text, Result<T> (*parse)(std::string_view)) {
  return parse(text).map_error([&](Error error) {
    error.where = fmt::format("{} {}", option, quote(text));
    return error;
  });
}

Result<Nanoseconds> parse_deadline(std::string_view text) {
  const auto deadline = from_seconds(PEERLANE_TRY(parse_seconds(text)));
  if (deadline.count() > 0) return deadline;
  return fail(ErrorKind::invalid_argument, "nothing can be done in no time at all", "",
              "a duration is 2s, 250ms or 100us");
}

Result<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc{} && stop == end) return seed;
  return fail(ErrorKind::invalid_argument, "it is not a whole number from 0 to 2^64-1");
}

Result<Options> read_options(const Words& words) {
  Options options;
  options.strict = words.strict;
  if (!words.faults.empty() && words.machines.empty()) {
    return fail(ErrorKind::invalid_argument, "faults are for simulated machines", "--fault",
                "name one with --machine; `peerlane sim` lists them");
  }
  options.faults = words.faults;
  if (words.seed) options.seed = PEERLANE_TRY(read("--seed", *words.seed, parse_seed));
  if (words.deadline) options.deadline = PEERLANE_TRY(read("--deadline", *words.deadline, parse_deadline));
  return options;
}

Result<std::vector<std::string>> read_machines(const Words& words) {
  if (std::ranges::count(words.machines, std::string()) > 0) {
    return fail(ErrorKind::invalid_argument, "an empty name is no machine", "--machine",
                "a preset or the path of a machine file; `peerlane sim` lists the presets");
  }
  return words.machines;
}

Result<RecordForm> read_form(const Words& words) {
  if (!words.form || *words.form == "json") return RecordForm::json;
  if (*words.form == "nccl") return RecordForm::nccl;
  return fail(ErrorKind::invalid_argument, "no such form; there are json and nccl", "--as " + quote(*words.form));
}

Result<std::string> read_svg(const Words& words) {
  if (!words.svg) return std::string();
  if (words.svg->empty()) return fail(ErrorKind::invalid_argument, "an empty name is no file", "--svg");
  return *words.svg;
}

Result<Stop> read_stop(const std::string& word) {
  auto named = PEERLANE_TRY(parse_place(word));
  return Stop{word, named.place, std::move(named.path)};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<Request> understand(const Words& words) {
  Request request;
  request.json = words.json;
  request.durable = words.durable;
  request.options = PEERLANE_TRY(read_options(words));
  request.machines = PEERLANE_TRY(read_machines(words));
  request.form = PEERLANE_TRY(read_form(words));
  request.svg = PEERLANE_TRY(read_svg(words));
  if (words.size) request.size = PEERLANE_TRY(read("--size", *words.size, parse_bytes));
  for (const auto& word : words.places) request.stops.push_back(PEERLANE_TRY(read_stop(word)));
  return request;
}

std::string hop_name(std::string_view from, std::string_view to) {
  return fmt::format("{} → {}", from, to);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& good_words) {
  const auto distance = [&](const std::string& good) { return edit_distance(word, good); };
  const auto nearest = std::ranges::min_element(good_words, {}, distance);
  const bool near = nearest != good_words.end() && distance(*nearest) <= std::max<std::size_t>(1, nearest->size() / 3);
  return near ? fmt::format("did you mean {}?", *nearest) : std::string();
}

}  // namespace peerlane::cli

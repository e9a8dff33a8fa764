#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/lines.hpp"

namespace peerlane::importers {
namespace {

constexpr std::string_view format = "nvidia-smi topo -m";
constexpr int most_bonded = 999;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Length of the cell that a word begins with, "NV12", "PIX", "X"; 0: none.
std::size_t cell_length(std::string_view word) {
  for (const std::string_view cell : {"NODE", "PIX", "PXB", "PHB", "SYS", "SOC", "X"}) {
    if (word.starts_with(cell)) return cell.size();
  }
  if (!word.starts_with("NV") || word.size() < 3 || !is_digit(word[2])) return 0;
  std::size_t length = 3;
  while (length < word.size() && is_digit(word[length])) ++length;
  return number_of(word.substr(2, length - 2), most_bonded) ? length : 0;
}

/// "PXBNODE" are two cells: a narrow terminal ran them together. Nothing where a word is anything else.
std::vector<std::string_view> cells_of(std::string_view word) {
  std::vector<std::string_view> cells;
  while (!word.empty()) {
    const std::size_t length = cell_length(word);
    if (length == 0) return {};
    cells.push_back(word.substr(0, length));
    word.remove_prefix(length);
  }
  return cells;
}

/// Length of the column name that a word begins with; the whole word where it is no known one.
std::size_t name_length(std::string_view word) {
  for (const std::string_view prefix : {"GPU", "NIC", "mlx4_", "mlx5_"}) {
    if (!word.starts_with(prefix) || word.size() == prefix.size() || !is_digit(word[prefix.size()])) continue;
    std::size_t length = prefix.size();
    while (length < word.size() && is_digit(word[length])) ++length;
    return length;
  }
  return word.size();
}

struct Header {
  std::size_t line = 0;  // index
  std::vector<std::string> columns;
  bool has_cpus = false, has_numa = false, has_gpu_numa = false;
};

/// "GPU0 GPU1 mlx5_0 CPU Affinity NUMA Affinity GPU NUMA ID", the names perhaps run together.
std::optional<Header> header_of(std::string_view line) {
  Header header;
  header.has_cpus = line.find("CPU Affinity") != std::string_view::npos;
  header.has_numa = line.find("NUMA Affinity") != std::string_view::npos;
  header.has_gpu_numa = line.find("GPU NUMA ID") != std::string_view::npos;
  line = line.substr(0, std::min({line.find("CPU Affinity"), line.find("NUMA Affinity"), line.find("GPU NUMA ID")}));
  for (std::string_view word : words_of(line)) {
    while (!word.empty()) {
      const std::size_t length = name_length(word);
      header.columns.emplace_back(word.substr(0, length));
      word.remove_prefix(length);
    }
  }
  // A row begins with a name, too, and then has cells.
  if (header.columns.empty() || !numbered(header.columns.front(), "GPU", 1 << 20)) return std::nullopt;
  if (header.columns.size() == 1) return header.has_cpus ? std::optional(header) : std::nullopt;
  return cells_of(header.columns[1]).empty() ? std::optional(header) : std::nullopt;
}

struct Row {
  int column = -1;  // its own
  std::vector<std::string> cells;
  std::vector<std::string> rest;
  bool complete = false;
};

bool is_list(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789-,") == std::string_view::npos && is_digit(word.front());
}

class Reader {
 public:
  explicit Reader(const Text& text) : text_(text) {}

  Result<Said> read() {
    lines_ = PEERLANE_TRY(clean_lines(text_));
    PEERLANE_TRY(find_header());
    name_nics();
    PEERLANE_TRY(add_devices());
    for (std::size_t i = header_.line + 1; i < lines_.size(); ++i) {
      if (PEERLANE_TRY(read_row(lines_[i]))) continue;
      if (i > header_.line + 1 && header_of(lines_[i].text) && !rows_.empty()) {
        note(fmt::format("line {} begins a second matrix, which is not read", lines_[i].number));
        break;
      }
    }
    for (const Row& row : rows_) settle(row);
    report_missing();
    if (rows_.empty()) {
      return unreadable(text_, lines_[header_.line].number, 1, "a header without a row that can be read");
    }
    return std::move(said_);
  }

 private:
  void note(std::string sentence) { said_.notes.push_back(fmt::format("{}: {}", text_.source, std::move(sentence))); }

  Result<void> find_header() {
    said_.source = text_.source;
    said_.format = format;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      auto header = header_of(lines_[i].text);
      if (!header) continue;
      header_ = std::move(*header);
      header_.line = i;
      return {};
    }
    return unreadable(text_, lines_.empty() ? 1 : lines_.size(), 1,
                      "no header with the names of the GPUs (\"GPU0 GPU1 …\") is in this matrix");
  }

  /// "NIC0: mlx5_0" of the NIC legend.
  void name_nics() {
    for (const Line& line : lines_) {
      const auto words = words_of(line.text);
      if (words.size() < 2 || !words[0].ends_with(':')) continue;
      const auto number = numbered(words[0].substr(0, words[0].size() - 1), "NIC", most_devices);
      if (number && line.ended) nic_names_[*number] = words[1];
    }
  }

  Result<void> add_devices() {
    if (header_.columns.size() > 2 * most_devices) return too_many();
    std::set<std::string> seen;
    for (const std::string& column : header_.columns) {
      if (!seen.insert(column).second) {
        return unreadable(text_, lines_[header_.line].number, 1, "the header names " + quote(column) + " twice");
      }
      SaidDevice device;
      if (column.starts_with("GPU")) {
        const auto number = numbered(column, "GPU", most_devices - 1);
        if (!number) return too_many();
        device.ordinal = *number;
      } else if (const auto number = numbered(column, "NIC", most_devices - 1)) {
        device.kind = SaidKind::nic;
        device.ordinal = *number;
        if (const auto named = nic_names_.find(*number); named != nic_names_.end()) device.name = named->second;
      } else {
        device.kind = SaidKind::nic;
        device.name = column;
      }
      said_.devices.push_back(std::move(device));
    }
    return {};
  }

  tl::unexpected<Error> too_many() const {
    return unreadable(text_, lines_[header_.line].number, 1,
                      fmt::format("GPUs and NICs are numbered to {} at most", most_devices - 1));
  }

  std::string label(int column) const { return header_.columns[column]; }

  /// Was it a row?
  Result<bool> read_row(const Line& line) {
    auto words = words_of(line.text);
    if (words.empty()) return false;
    const std::string_view name = words[0].substr(0, name_length(words[0]));
    const auto column = std::ranges::find(header_.columns, name);
    if (column == header_.columns.end()) return false;
    Row row;
    row.column = static_cast<int>(column - header_.columns.begin());
    words[0].remove_prefix(name.size());
    const std::size_t first = words[0].empty() ? 1 : 0;
    std::size_t at = first;
    for (; at < words.size() && row.cells.size() < header_.columns.size(); ++at) {
      const auto cells = cells_of(words[at]);
      if (cells.empty()) break;
      row.cells.insert(row.cells.end(), cells.begin(), cells.end());
      // "NV1" may be the begin of "NV18".
      const bool cut = !line.ended && at + 1 == words.size() && cells.back().starts_with("NV") &&
                       row.cells.size() < header_.columns.size();
      if (cut) row.cells.pop_back();
    }
    if (row.cells.empty()) return false;
    if (row.cells.size() > header_.columns.size()) {
      note(fmt::format("line {}: the row of {} has more cells than there are columns; it is not read", line.number, name));
      return true;
    }
    const auto self = std::ranges::find(row.cells, "X");
    const bool shifted = self != row.cells.end() && self - row.cells.begin() != row.column;
    const bool lacks_itself = self == row.cells.end() && std::ssize(row.cells) > row.column;
    if (shifted || lacks_itself) {
      note(fmt::format("line {}: the row of {} does not meet itself in its own column; it is not read", line.number,
                       name));
      return true;
    }
    row.complete = row.cells.size() == header_.columns.size();
    if (row.complete) row.rest = rest_of(words, at);
    if (!row.complete) {
      note(fmt::format("line {}: the row of {} is cut off after {} of {} cells; what is missing is not known",
                       line.number, name, row.cells.size(), header_.columns.size()));
    }
    const bool again = std::ranges::count(rows_, row.column, &Row::column) > 0;
    if (again) {
      note(fmt::format("line {}: a second row of {} is not read", line.number, name));
      return true;
    }
    row_cut_ = !line.ended;
    rows_.push_back(std::move(row));
    return true;
  }

  static std::vector<std::string> rest_of(const std::vector<std::string_view>& words, std::size_t at) {
    std::vector<std::string> rest;
    for (; at < words.size(); ++at) {
      if (!rest.empty() && rest.back().ends_with(',')) {
        rest.back() += words[at];
      } else {
        rest.emplace_back(words[at]);
      }
    }
    return rest;
  }

  void settle(const Row& row) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (static_cast<int>(i) != row.column) say(row.column, static_cast<int>(i), row.cells[i]);
    }
    if (said_.devices[row.column].kind == SaidKind::gpu) settle_affinity(row);
  }

  /// One entry says it both ways; the first row is believed.
  void say(int a, int b, std::string letters) {
    if (letters == "SOC") letters = "SYS";
    const auto [known, is_new] = said_letters_.emplace(std::minmax(a, b), letters);
    if (is_new) return said_.letters.push_back({a, b, std::move(letters)});
    if (known->second == letters) return;
    note(fmt::format("{} and {} meet at {} in one row and at {} in the other; {} is believed", label(b), label(a),
                     known->second, letters, known->second));
  }

  void settle_affinity(const Row& row) {
    SaidDevice& gpu = said_.devices[row.column];
    std::vector<std::string> rest = row.rest;
    const bool last = &row == &rows_.back() && row_cut_;
    if (last && !rest.empty() && rest.back() != "N/A" && !stands_elsewhere(row, rest)) {
      note(fmt::format("the text ends in the row of {}: \"{}\" may go on, so it is not read", label(row.column),
                       rest.back()));
      rest.pop_back();
    }
    std::size_t at = 0;
    if (header_.has_cpus && at < rest.size()) {
      if (is_list(rest[at])) gpu.cpus = rest[at];
      ++at;
    }
    if (header_.has_numa && at < rest.size()) {
      read_numa(gpu, rest[at]);
      ++at;
    }
    if (header_.has_gpu_numa && at < rest.size()) gpu.memory_numa = number_of(rest[at], 65535).value_or(-1);
  }

  bool stands_elsewhere(const Row& row, const std::vector<std::string>& rest) const {
    return std::ranges::any_of(rows_, [&](const Row& other) {
      return &other != &row && other.rest.size() >= rest.size() && other.rest[rest.size() - 1] == rest.back();
    });
  }

  void read_numa(SaidDevice& gpu, const std::string& word) {
    if (const auto number = number_of(word, 65535)) {
      gpu.numa = *number;
    } else if (is_list(word)) {
      gpu.numa = number_of(word.substr(0, word.find_first_of(",-")), 65535).value_or(-1);
      note(fmt::format("GPU{} is near the NUMA nodes {}, of which the first is taken: the others are the memory of GPUs, "
                       "or empty",
                       gpu.ordinal, word));
    }
  }

  void report_missing() {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < said_.devices.size(); ++i) {
      const bool has_row = std::ranges::count(rows_, static_cast<int>(i), &Row::column) > 0;
      if (!has_row && said_.devices[i].kind == SaidKind::gpu) missing.push_back(label(static_cast<int>(i)));
    }
    if (!missing.empty()) {
      note(fmt::format("the header names {}, and no row of {} can be read: the input is cut off", peerlane::join(missing),
                       missing.size() == 1 ? "it" : "theirs"));
    }
  }

  const Text& text_;
  std::vector<Line> lines_;
  Header header_;
  std::map<int, std::string> nic_names_;
  std::vector<Row> rows_;
  bool row_cut_ = false;  // the text ends in the last row
  std::map<std::pair<int, int>, std::string> said_letters_;
  Said said_;
};

/// A row "GPU0 X NV12 …", or a header that speaks of affinity.
bool knows(std::string_view text) {
  std::size_t left = 1 << 20;
  for (std::size_t at = 0; at < text.size() && left > 0; --left) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t gpu = line.find("GPU");
    if (gpu == std::string_view::npos || line.size() > 65536) continue;
    if (line.find("CPU Affinity") != std::string_view::npos) return true;
    const auto words = words_of(line.substr(gpu));
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto cells = cells_of(words[i]);
      if (cells.empty()) break;
      if (cells.size() > 1 || cells[0] != "X") return true;
    }
  }
  return false;
}

Result<Said> read(const Text& text) {
  return Reader(text).read();
}

}  // namespace

Importer topo_matrix() {
  return {format, knows, read};
}

}  // namespace peerlane::importers

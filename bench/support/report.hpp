#pragma once
/// One result file a run: schema `peerlane.row/1`, with machine, driver, commit and date, so that a figure can be
/// quoted.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "peerlane/peerlane.hpp"

#ifndef PEERLANE_COMMIT
#define PEERLANE_COMMIT "unknown"
#endif

namespace peerlane::bench {

struct Samples {
  std::vector<double> values;

  double quantile(double q) const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
  double median() const { return quantile(0.5); }
  /// Distance of the quartiles, relative to the median.
  double spread() const { return median() == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / std::abs(median()); }
};

inline std::string today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// What every row says of the machine it was measured on.
inline nlohmann::json row(const Session& session, const std::string& name, const std::string& work) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const Node& node : session.machine().nodes) {
    if (node.kind == NodeKind::gpu) gpus.push_back(node.name);
  }
  return {{"schema", "peerlane.row/1"},        {"row", name},     {"work", work},
          {"machine", session.machine().name}, {"gpus", gpus},    {"driver", session.machine().driver},
          {"commit", PEERLANE_COMMIT},         {"date", today()}, {"simulated", session.simulated()}};
}

inline bool save(const nlohmann::json& rows, const std::string& path) {
  std::ofstream out(path);
  out << rows.dump(2) << '\n';
  return static_cast<bool>(out.flush());
}

}  // namespace peerlane::bench

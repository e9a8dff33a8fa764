#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/try.hpp"
#include "print/output.hpp"
#include "print/tables.hpp"
#include "vendor/cuda.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

namespace {

struct FaultKind {
  std::string_view name;
  std::string_view where;  ///< what it can strike
  std::string_view meaning;
};

constexpr std::array fault_kinds = {
    FaultKind{"corrupt", "hop", "bytes that cross arrive changed"},
    FaultKind{"drop", "hop", "bytes that cross never arrive; the copy reports success"},
    FaultKind{"misdirect", "hop", "bytes that cross land at the wrong address"},
    FaultKind{"mirror", "hop", "writes land elsewhere, and the writer reads back its own bytes"},
    FaultKind{"stale", "hop", "what arrives is what the source held before"},
    FaultKind{"stuck", "hop or place", "an engine takes the work and never finishes it"},
    FaultKind{"lost", "place", "the GPU falls off the bus"},
    FaultKind{"fail", "driver call", "the call returns an error"},
};

constexpr std::array driver_calls = {
#define PEERLANE_NAME(name, version, parameters) std::string_view(#name),
    PEERLANE_CUDA_CALLS(PEERLANE_NAME)
#undef PEERLANE_NAME
};

constexpr std::string_view introduction =
    "With --machine every verb runs on a simulated machine: the bytes are real, the time is invented, and the code\n"
    "between is the same as on a real one. NAME is a preset, FILE a machine that `peerlane record` wrote.\n";

constexpr std::string_view fault_forms =
    "Faults: --fault KIND:WHERE[:N], repeatable, on simulated machines only\n"
    "  WHERE  a directed hop 'gpu:0>gpu:1', a place gpu:1, or a driver call's name\n"
    "  N      the Nth time only, counted from 1; every time where it is left out\n"
    "  --seed N fixes all chance: the same seed gives the same run\n";

constexpr std::string_view examples =
    "Examples\n"
    "  peerlane copy gpu:0 gpu:1 --size 64MiB --machine dgx-h100 --fault 'corrupt:gpu:0>gpu:1'\n"
    "  peerlane copy gpu:0 gpu:1 --size 64MiB --machine dgx-h100 --fault stuck:gpu:0 --deadline 2s\n"
    "  peerlane copy gpu:0 gpu:1 --size 64MiB --machine dgx-h100 --fault fail:cuMemAlloc:2\n";

Result<std::string> presets_text() {
  std::string text = "Presets\n";
  for (const auto name : preset_names()) {
    const auto machine = PEERLANE_TRY(preset(name));
    const Node* first = machine.gpu(0);
    const auto gpus = first == nullptr ? "no GPU" : fmt::format("{} × {}", machine.gpu_count(), first->name);
    text += fmt::format("  {}  {}\n", pad_right(name, 18), gpus);
  }
  return text;
}

std::string kinds_text() {
  std::string text = "  KIND\n";
  for (const auto& kind : fault_kinds) {
    text += fmt::format("    {}  {}  {}\n", pad_right(kind.name, 9), pad_right(kind.where, 12), kind.meaning);
  }
  return text;
}

std::string calls_text() {
  constexpr std::size_t columns = 3;
  std::string text = "Driver calls\n";
  for (std::size_t i = 0; i < driver_calls.size(); ++i) {
    const bool ends_line = i % columns == columns - 1 || i + 1 == driver_calls.size();
    text += "  " + (ends_line ? std::string(driver_calls[i]) + "\n" : pad_right(driver_calls[i], 32));
  }
  return text;
}

std::string as_json() {
  nlohmann::ordered_json document = {{"schema", "peerlane.sim/1"}, {"presets", preset_names()}};
  auto& faults = document["faults"] = nlohmann::ordered_json::array();
  for (const auto& kind : fault_kinds) {
    faults.push_back({{"kind", kind.name}, {"where", kind.where}, {"meaning", kind.meaning}});
  }
  document["driver_calls"] = driver_calls;
  return document.dump(2);
}

}  // namespace

Result<void> run_sim(const Request& request) {
  if (request.json) return write_document(as_json());
  const auto presets = PEERLANE_TRY(presets_text());
  return write_out(
      fmt::format("{}\n{}\n{}{}\n{}\n{}", introduction, presets, fault_forms, kinds_text(), examples, calls_text()));
}

}  // namespace peerlane::cli

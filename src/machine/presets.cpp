#include "machine/presets.hpp"

#include <array>

#include "base/text.hpp"

namespace peerlane {
namespace {

struct Preset {
  std::string_view name;
  Machine (*build)();
};

constexpr std::array presets = {
    Preset{"dgx-1-v100", machine::dgx_1_v100},     Preset{"dgx-2", machine::dgx_2},
    Preset{"dgx-a100", machine::dgx_a100},         Preset{"dgx-h100", machine::dgx_h100},
    Preset{"hgx-h200", machine::hgx_h200},         Preset{"pcie-2socket-4gpu", machine::pcie_2socket_4gpu},
    Preset{"rtx3090-pair", machine::rtx3090_pair}, Preset{"rtx4090-4", machine::rtx4090_4},
    Preset{"laptop-1gpu", machine::laptop_1gpu},
};

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  names.reserve(presets.size());
  for (const Preset& preset : presets) names.push_back(preset.name);
  return names;
}

Result<Machine> preset(std::string_view name) {
  for (const Preset& preset : presets) {
    if (preset.name == name) return preset.build();
  }
  const std::vector<std::string_view> names = preset_names();
  return fail(ErrorKind::invalid_argument, "no preset has this name", "machine " + quote(name),
              "presets are " + join({names.begin(), names.end()}));
}

}  // namespace peerlane

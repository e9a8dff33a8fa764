#pragma once
/// "GPU 0: NVIDIA H200 (UUID: GPU-…)", which `nvidia-smi -L` and `nvlink -s` begin a GPU with.

#include "importers/lines.hpp"

namespace peerlane::importers {

/// The GPU that such a line names, or nothing.
std::optional<SaidDevice> gpu_line(std::string_view line);

/// Has the text a line like that?
bool has_gpu_line(std::string_view text);

}  // namespace peerlane::importers

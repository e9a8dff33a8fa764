/// What a program still holds, in sentences.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "sim/world.hpp"

namespace peerlane::sim {
namespace {

/// Nothing can be given back to a context that is dead, so nothing of it counts as forgotten.
bool is_dead(const Context* context) {
  return context != nullptr && context->error != cu::Status::success;
}

std::string sentence(const Memory& memory) {
  const std::string what = fmt::format("{}, allocation {}", format_bytes(memory.bytes), memory.id);
  switch (memory.kind) {
    case MemoryKind::device:
      return fmt::format("gpu:{}: device memory of {}", memory.gpu, what);
    case MemoryKind::pool:
      return fmt::format("gpu:{}: pool memory of {}", memory.gpu, what);
    case MemoryKind::vmm:
      return fmt::format("gpu:{}: mapping of {}", memory.gpu, what);
    case MemoryKind::pinned:
      return fmt::format("host: pinned memory of {}", what);
    case MemoryKind::registered:
      return fmt::format("host: registration of {}", what);
  }
  return what;
}

template <class Objects>
void count_per_gpu(const Objects& objects, std::string_view what, std::vector<std::string>& held) {
  std::map<int, int> counts;
  for (const auto& [handle, object] : objects.all()) {
    if (!is_dead(object->context)) ++counts[object->context->gpu];
  }
  for (const auto& [gpu, count] : counts) held.push_back(fmt::format("gpu:{}: {} {}", gpu, count, what));
}

}  // namespace

std::vector<std::string> World::leaks() const {
  std::vector<std::string> held = misdeeds_;
  std::map<std::uint64_t, std::string> memories;  // by id: addresses differ from run to run
  for (const auto& [base, memory] : book_.all()) {
    if (!is_dead(memory->context)) memories.emplace(memory->id, sentence(*memory));
  }
  for (auto& [id, text] : memories) held.push_back(std::move(text));
  for (const auto& [handle, physical] : physicals_) {
    if (physical->released || is_dead(&gpus_[physical->gpu]->context)) continue;
    held.push_back(fmt::format("gpu:{}: physical memory of {}", physical->gpu, format_bytes(physical->bytes)));
  }
  std::vector<std::string> ranges;
  for (const auto& [base, pages] : book_.pages) {
    ranges.push_back(fmt::format("host: pages of {}", format_bytes(pages.bytes)));
  }
  for (const auto& [base, reserved] : book_.reserved) {
    ranges.push_back(fmt::format("addresses: a range of {}", format_bytes(reserved.bytes())));
  }
  std::ranges::sort(ranges);
  held.insert(held.end(), ranges.begin(), ranges.end());
  count_per_gpu(streams_, "streams", held);
  count_per_gpu(events_, "events", held);
  count_per_gpu(modules_, "modules", held);
  for (const auto& [handle, pool] : pools_.all()) {
    if (!pool->is_default) held.push_back(fmt::format("gpu:{}: a memory pool", pool->gpu));
  }
  for (const auto& gpu : gpus_) {
    const Context& context = gpu->context;
    if (context.references == 0 || is_dead(&context)) continue;
    held.push_back(fmt::format("gpu:{}: primary context, retained {} times", context.gpu, context.references));
  }
  return held;
}

}  // namespace peerlane::sim

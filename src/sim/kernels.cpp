#include "sim/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "base/digest.hpp"

namespace peerlane::sim {
namespace {

template <class T>
T parameter(void** parameters, int index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

KernelCall peerlane_digest(void** parameters) {
  const auto bytes = parameter<cu::DevicePtr>(parameters, 0);
  const auto count = parameter<std::uint64_t>(parameters, 1);
  const auto offset = parameter<std::uint64_t>(parameters, 2);
  const auto sum = parameter<cu::DevicePtr>(parameters, 3);
  return {{{bytes, count}, {sum, sizeof(std::uint64_t), true}}, [=](std::span<std::byte* const> memory) {
            std::uint64_t total = 0;
            std::memcpy(&total, memory[1], sizeof total);
            total += digest::sum(memory[0], count, offset);
            std::memcpy(memory[1], &total, sizeof total);
          }};
}

KernelCall peerlane_fill(void** parameters) {
  const auto bytes = parameter<cu::DevicePtr>(parameters, 0);
  const auto count = parameter<std::uint64_t>(parameters, 1);
  const auto offset = parameter<std::uint64_t>(parameters, 2);
  const auto seed = parameter<std::uint64_t>(parameters, 3);
  return {{{bytes, count, true, true}},
          [=](std::span<std::byte* const> memory) { digest::fill(memory[0], count, offset, seed); }};
}

constexpr Kernel kernels[] = {{"peerlane_digest", peerlane_digest}, {"peerlane_fill", peerlane_fill}};

}  // namespace

const Kernel* find_kernel(std::string_view name) {
  const auto kernel = std::ranges::find(kernels, name, &Kernel::name);
  return kernel == std::end(kernels) ? nullptr : kernel;
}

}  // namespace peerlane::sim

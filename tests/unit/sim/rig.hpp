#pragma once
/// A simulated machine and the few moves that every test makes on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "peerlane/machine.hpp"
#include "sim/simulation.hpp"

namespace peerlane::sim {

using cu::Status;
using Content = std::vector<unsigned char>;

/// Every GPU's context is retained, and context 0 is current.
class Rig {
 public:
  explicit Rig(Machine machine, Settings settings = {})
      : machine_(std::move(machine)), simulation_(Simulation::start(machine_, settings).value()) {
    for (int gpu = 0; gpu < machine_.gpu_count(); ++gpu) {
      contexts_.push_back(nullptr);
      driver().cuDevicePrimaryCtxRetain(&contexts_.back(), gpu);
    }
    use(0);
  }
  explicit Rig(std::string_view preset_name, Settings settings = {}) : Rig(preset(preset_name).value(), settings) {}
  ~Rig() { driver().cuCtxSetCurrent(nullptr); }

  Simulation& simulation() { return *simulation_; }
  const vendor::CudaDriver& driver() { return simulation_->driver(); }
  const Machine& machine() const { return machine_; }
  cu::Context context(int gpu) { return contexts_.at(gpu); }
  int gpus() const { return static_cast<int>(contexts_.size()); }
  std::uint64_t calls(std::string_view name) {
    const auto all = simulation_->calls();
    const auto call = std::ranges::find(all, name, &std::pair<std::string_view, std::uint64_t>::first);
    return call->second;
  }
  double now_s() { return seconds(simulation_->clock().now()); }

  void use(int gpu) { ASSERT_EQ(driver().cuCtxSetCurrent(contexts_.at(gpu)), Status::success); }

  cu::DevicePtr memory(int gpu, Bytes bytes) {
    use(gpu);
    cu::DevicePtr pointer = 0;
    EXPECT_EQ(driver().cuMemAlloc(&pointer, bytes), Status::success);
    return pointer;
  }
  cu::Stream stream(int gpu, unsigned flags = cu::stream_non_blocking) {
    use(gpu);
    cu::Stream made = nullptr;
    EXPECT_EQ(driver().cuStreamCreate(&made, flags), Status::success);
    return made;
  }
  cu::Event event(int gpu) {
    use(gpu);
    cu::Event made = nullptr;
    EXPECT_EQ(driver().cuEventCreate(&made, cu::event_default), Status::success);
    return made;
  }
  cu::Event mark(int gpu, cu::Stream stream) {
    cu::Event made = event(gpu);
    EXPECT_EQ(driver().cuEventRecord(made, stream), Status::success);
    return made;
  }
  unsigned char* pinned(Bytes bytes, int gpu = 0) {
    use(gpu);
    void* pointer = nullptr;
    EXPECT_EQ(driver().cuMemHostAlloc(&pointer, bytes, cu::host_alloc_portable), Status::success);
    return static_cast<unsigned char*>(pointer);
  }
  Status allow(int reader, int owner) {
    use(reader);
    return driver().cuCtxEnablePeerAccess(contexts_.at(owner), 0);
  }

  void write(cu::DevicePtr to, const Content& content, int gpu) {
    use(gpu);
    const cu::Stream on = stream(gpu);
    ASSERT_EQ(driver().cuMemcpyHtoDAsync(to, content.data(), content.size(), on), Status::success);
    ASSERT_EQ(driver().cuStreamSynchronize(on), Status::success);
    driver().cuStreamDestroy(on);
  }
  Content read(cu::DevicePtr from, Bytes bytes, int gpu) {
    use(gpu);
    const cu::Stream on = stream(gpu);
    Content content(bytes);
    EXPECT_EQ(driver().cuMemcpyDtoHAsync(content.data(), from, bytes, on), Status::success);
    driver().cuStreamDestroy(on);
    return content;
  }

  /// Seconds between two marks on one stream.
  double elapsed_s(cu::Event start, cu::Event end) {
    EXPECT_EQ(driver().cuEventSynchronize(end), Status::success);
    float milliseconds = 0;
    EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, start, end), Status::success);
    return milliseconds / 1e3;
  }
  /// A copy between two GPUs on a stream of `on`, timed by events. All is enqueued before it may begin, so that the
  /// time is the stream's and not the host's.
  double copy_s(int from_gpu, int to_gpu, Bytes bytes, int on) {
    const auto from = memory(from_gpu, bytes);
    const auto to = memory(to_gpu, bytes);
    unsigned char* gate = pinned(4);
    std::fill_n(gate, 4, static_cast<unsigned char>(0));
    const cu::Stream s = stream(on);
    const auto gate_address = reinterpret_cast<cu::DevicePtr>(gate);
    EXPECT_EQ(driver().cuStreamWaitValue32(s, gate_address, 1, cu::wait_value_equal), Status::success);
    const cu::Event start = mark(on, s);
    EXPECT_EQ(driver().cuMemcpyDtoDAsync(to, from, bytes, s), Status::success);
    const cu::Event end = mark(on, s);
    gate[0] = 1;
    const double taken = elapsed_s(start, end);
    EXPECT_EQ(driver().cuMemFreeHost(gate), Status::success);
    EXPECT_EQ(driver().cuMemFree(from), Status::success);
    EXPECT_EQ(driver().cuMemFree(to), Status::success);
    return taken;
  }
  cu::Function function(int gpu, const char* name) {
    use(gpu);
    cu::Module module = nullptr;
    EXPECT_EQ(driver().cuModuleLoadData(&module, "image"), Status::success);
    cu::Function function = nullptr;
    EXPECT_EQ(driver().cuModuleGetFunction(&function, module, name), Status::success);
    return function;
  }
  /// Launches peerlane_digest on `gpu` over memory anywhere; the sum is added to *sum.
  Status digest(int gpu, cu::DevicePtr bytes, std::uint64_t count, cu::DevicePtr sum, cu::Stream on) {
    const cu::Function kernel = function(gpu, "peerlane_digest");
    std::uint64_t offset = 0;
    void* parameters[] = {&bytes, &count, &offset, &sum};
    return driver().cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr);
  }
  Status fill(int gpu, cu::DevicePtr bytes, std::uint64_t count, std::uint64_t seed, cu::Stream on) {
    const cu::Function kernel = function(gpu, "peerlane_fill");
    std::uint64_t offset = 0;
    void* parameters[] = {&bytes, &count, &offset, &seed};
    return driver().cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr);
  }

  static bool is_all(const Content& content, unsigned char value) {
    return std::ranges::all_of(content, [value](unsigned char c) { return c == value; });
  }
  static Content pattern(Bytes bytes, unsigned salt = 1) {
    Content content(bytes);
    for (Bytes i = 0; i < bytes; ++i) content[i] = static_cast<unsigned char>(i * 31 + salt * 17 + (i >> 8));
    return content;
  }

 private:
  Machine machine_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<cu::Context> contexts_;
};

/// GPUs that all may reach each other, and nothing else: no links, no host.
inline Machine bare_machine(int gpus) {
  Machine machine;
  machine.name = "bare";
  for (int i = 0; i < gpus; ++i) {
    Node node;
    node.index = i;
    node.memory = 1_GiB;
    node.memory_bytes_per_s = 1e12;
    node.compute_major = 9;
    machine.nodes.push_back(node);
    for (int other = 0; other < gpus; ++other) {
      if (other != i) machine.pairs.push_back({i, other, "SYS", 0, Claim::yes, Claim::yes, ""});
    }
  }
  return machine;
}

}  // namespace peerlane::sim

/// Every driver call that these rooms make is made to fail, one after another: each time a whole use of the rooms ends
/// with the right memory or a sentence, and nothing is held afterwards.

#include <gmock/gmock.h>

#include <iostream>

#include "unit/memory/world.hpp"

namespace peerlane::memory {
namespace {

using test::World;

/// Result of a step: fine, or an error that has a sentence.
template <class T>
void settle(const Result<T>& result, int& failures) {
  if (result) return;
  ++failures;
  EXPECT_FALSE(result.error().what.empty());
}

struct Use {
  int failures = 0;
  std::uint64_t pushes = 0;  ///< cuCtxPushCurrent, until giving back begins
};

/// Uses everything once; what fails is left out.
Use use_all(World& world) {
  Use use;
  Events events(*world.contexts, cu::event_default);
  std::vector<Result<Buffer>> buffers;
  for (const Place place : {gpu(0), gpu(1), host(), host(0), mem()}) {
    buffers.push_back(world.memory->allocate(place, 10'000));
    settle(buffers.back(), use.failures);
    if (buffers.back()) settle(world.memory->origin(buffers.back()->data() + 1, 9'999), use.failures);
  }
  settle(world.memory->allocate(gpu(0), 1024_GiB), use.failures);
  const auto stream = world.streams->borrow(0);
  settle(stream, use.failures);
  const auto other_stream = world.streams->borrow(1);
  settle(other_stream, use.failures);
  const auto there = world.peers->allow(0, 1);
  settle(there, use.failures);
  const auto back = world.peers->allow(1, 0);
  settle(back, use.failures);
  auto on_host = world.staging->borrow(host(), 1_MiB, 4);
  settle(on_host, use.failures);
  const auto on_gpu = world.staging->borrow(gpu(1), 1_MiB, 4);
  settle(on_gpu, use.failures);
  const auto event = events.borrow(0);
  settle(event, use.failures);
  use.pushes = world.calls("cuCtxPushCurrent");
  if (event) events.give_back(0, *event);
  if (stream) world.streams->give_back(0, *stream);
  if (other_stream) world.streams->give_back(1, *other_stream);
  if (on_host) world.staging->give_back(*std::move(on_host));
  return use;
}

constexpr const char* preset_name = "dgx-h100";

TEST(EveryCall, MayFailOnceWithoutACrashOrALeak) {
  Use healthy;
  std::vector<std::pair<std::string_view, std::uint64_t>> made;
  {
    World world(preset_name);
    healthy = use_all(world);
    world.close();
    made = world.simulation->calls();
  }
  EXPECT_EQ(healthy.failures, 1) << "only the terabyte";

  int injected = 0;
  for (const auto& [call, count] : made) {
    if (call == "cuInit") continue;
    for (std::uint64_t n = 1; n <= count; ++n) {
      SCOPED_TRACE(std::string(call) + " fails the " + std::to_string(n) + "th time");
      World world(preset_name);  // its end asks for leaks
      // Memory whose context cannot be made current cannot be given back.
      if (call == "cuCtxPushCurrent" && n > healthy.pushes) world.leaves_something();
      const auto added = world.simulation->add_fault("fail:" + std::string(call) + ":" + std::to_string(n));
      ASSERT_TRUE(added) << added.error().message();
      use_all(world);
      ++injected;
    }
  }
  std::cout << injected << " driver calls were made to fail\n";
  EXPECT_GT(injected, 40);
}

}  // namespace
}  // namespace peerlane::memory

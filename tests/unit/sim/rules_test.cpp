/// The driver's own answers: every error that real code depends on.

#include <cstring>

#include "rig.hpp"

namespace peerlane::sim {
namespace {

TEST(Rules, NothingWorksBeforeInit) {
  auto simulation = Simulation::start(preset("hgx-h200").value(), {.initialize = false}).value();
  const auto& driver = simulation->driver();
  int count = 0;
  cu::Context context = nullptr;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), Status::not_initialized);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), Status::not_initialized);
  EXPECT_EQ(driver.cuInit(1), Status::invalid_value);
  EXPECT_EQ(driver.cuInit(0), Status::success);
  EXPECT_EQ(driver.cuDeviceGetCount(&count), Status::success);
  EXPECT_EQ(count, 8);
}

TEST(Rules, AMachineWithoutGpusHasNoDevice) {
  auto simulation = Simulation::start(bare_machine(0)).value();
  EXPECT_EQ(simulation->driver().cuInit(0), Status::no_device);
}

TEST(Rules, TheNinthSimulationIsRefusedWithASentence) {
  std::vector<std::unique_ptr<Simulation>> eight;
  for (int i = 0; i < 8; ++i) eight.push_back(Simulation::start(bare_machine(1)).value());
  const auto ninth = Simulation::start(bare_machine(1));
  ASSERT_FALSE(ninth.has_value());
  EXPECT_EQ(ninth.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(ninth.error().message(), testing::HasSubstr("8 simulated machines"));
  eight.pop_back();
  EXPECT_TRUE(Simulation::start(bare_machine(1)).has_value());
}

TEST(Rules, TheTableIsFullAndSaysThatItIsSimulated) {
  Rig rig("laptop-1gpu");
  const vendor::CudaDriver& driver = rig.driver();
#define PEERLANE_EXPECT(name, version, parameters) EXPECT_NE(driver.name, nullptr) << #name;
  PEERLANE_CUDA_CALLS(PEERLANE_EXPECT)
#undef PEERLANE_EXPECT
  EXPECT_TRUE(driver.simulated);
  EXPECT_EQ(driver.loaded_from, "simulated laptop-1gpu");
  int version = 0;
  EXPECT_EQ(driver.cuDriverGetVersion(&version), Status::success);
  EXPECT_EQ(version, driver.version);
}

TEST(Rules, EnableAnswersAsTheDriverDoes) {
  Rig rig("hgx-h200");
  const auto& driver = rig.driver();
  rig.use(0);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(rig.context(1), 1), Status::invalid_value);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(rig.context(0), 0), Status::peer_access_unsupported);
  EXPECT_EQ(driver.cuCtxDisablePeerAccess(rig.context(1)), Status::peer_access_not_enabled);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(rig.context(1), 0), Status::success);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(rig.context(1), 0), Status::peer_access_already_enabled);
  EXPECT_EQ(driver.cuCtxDisablePeerAccess(rig.context(1)), Status::success);
  EXPECT_EQ(driver.cuCtxDisablePeerAccess(rig.context(1)), Status::peer_access_not_enabled);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(reinterpret_cast<cu::Context>(std::uintptr_t{64}), 0),
            Status::invalid_context);
}

TEST(Rules, OneDirectionOpensNoOther) {
  Rig rig("hgx-h200");
  ASSERT_EQ(rig.allow(0, 1), Status::success);
  rig.use(1);
  EXPECT_EQ(rig.driver().cuCtxDisablePeerAccess(rig.context(0)), Status::peer_access_not_enabled);
}

TEST(Rules, APairThatCannotIsUnsupported) {
  Rig rig("rtx4090-4");
  EXPECT_EQ(rig.allow(0, 1), Status::peer_access_unsupported);
  int can = 7;
  EXPECT_EQ(rig.driver().cuDeviceCanAccessPeer(&can, 0, 1), Status::success);
  EXPECT_EQ(can, 0);
}

TEST(Rules, TheNinthPeerIsOneTooManyWithoutNvswitch) {
  Rig rig(bare_machine(10));
  for (int peer = 1; peer <= 8; ++peer) EXPECT_EQ(rig.allow(0, peer), Status::success) << peer;
  EXPECT_EQ(rig.allow(0, 9), Status::too_many_peers);
  Machine switched = bare_machine(10);
  Node nvswitch;
  nvswitch.kind = NodeKind::nvswitch;
  switched.nodes.push_back(nvswitch);
  Rig large(switched);
  for (int peer = 1; peer <= 9; ++peer) EXPECT_EQ(large.allow(0, peer), Status::success) << peer;
}

TEST(Rules, AGpuIsNoPeerOfItself) {
  Rig rig("hgx-h200");
  int value = 7;
  EXPECT_EQ(rig.driver().cuDeviceCanAccessPeer(&value, 0, 0), Status::success);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(rig.driver().cuDeviceGetP2PAttribute(&value, cu::p2p_access, 0, 0), Status::invalid_device);
}

TEST(Rules, OrdinalsThatDoNotExistAreInvalidDevices) {
  Rig rig("laptop-1gpu");
  const auto& driver = rig.driver();
  for (const int device : {-1, 1, 99}) {
    int value = 0;
    std::size_t bytes = 0;
    char name[8];
    cu::Uuid uuid;
    cu::Context context = nullptr;
    unsigned flags = 0;
    cu::Pool pool = nullptr;
    EXPECT_EQ(driver.cuDeviceGet(&value, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDeviceGetName(name, 8, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDeviceGetUuid(&uuid, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDeviceTotalMem(&bytes, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDeviceGetAttribute(&value, cu::attribute_compute_major, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDeviceCanAccessPeer(&value, 0, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, device), Status::invalid_device);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(device), Status::invalid_device);
    EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(device, &flags, &value), Status::invalid_device);
    EXPECT_EQ(driver.cuDeviceGetDefaultMemPool(&pool, device), Status::invalid_device);
  }
}

TEST(Rules, AtomicsAreNeverNativeOverPcie) {
  Machine machine = preset("pcie-2socket-4gpu").value();
  for (Pair& pair : machine.pairs) pair.atomics = Claim::yes;
  Rig rig(machine);
  for (const Pair& pair : machine.pairs) {
    int value = 7;
    EXPECT_EQ(rig.driver().cuDeviceGetP2PAttribute(&value, cu::p2p_native_atomics, pair.from, pair.to),
              Status::success);
    EXPECT_EQ(value, 0) << pair.from << " " << pair.to;
  }
  Rig nvlink("dgx-h100");
  int value = 0;
  nvlink.driver().cuDeviceGetP2PAttribute(&value, cu::p2p_native_atomics, 0, 1);
  EXPECT_EQ(value, 1);
}

TEST(Rules, AGpuWhoseNvlinksAreDownHasNoPeerAtAll) {
  Machine machine = preset("dgx-h100").value();
  for (Pair& pair : machine.pairs) {
    if (pair.from == 3 || pair.to == 3) pair.access = Claim::no;
  }
  Rig rig(machine);
  EXPECT_EQ(rig.allow(3, 0), Status::peer_access_unsupported);
  EXPECT_EQ(rig.allow(0, 3), Status::peer_access_unsupported);
  EXPECT_EQ(rig.allow(0, 1), Status::success);
}

TEST(Rules, WithoutACurrentContextMostCallsAreRefused) {
  Rig rig("hgx-h200");
  const auto& driver = rig.driver();
  const cu::DevicePtr memory = rig.memory(0, 64);
  const cu::Stream stream = rig.stream(0);
  const cu::Event event = rig.event(0);
  driver.cuCtxSetCurrent(nullptr);
  cu::DevicePtr pointer = 0;
  void* host_pointer = nullptr;
  std::size_t bytes = 0;
  cu::Stream made = nullptr;
  cu::Event made_event = nullptr;
  cu::Module module = nullptr;
  cu::Device device = 0;
  char content[64];
  EXPECT_EQ(driver.cuMemAlloc(&pointer, 64), Status::invalid_context);
  EXPECT_EQ(driver.cuMemFree(memory), Status::invalid_context);
  EXPECT_EQ(driver.cuMemGetInfo(&bytes, &bytes), Status::invalid_context);
  EXPECT_EQ(driver.cuMemHostAlloc(&host_pointer, 64, 0), Status::invalid_context);
  EXPECT_EQ(driver.cuMemHostRegister(content, 64, 0), Status::invalid_context);
  EXPECT_EQ(driver.cuMemcpyAsync(memory, memory, 1, stream), Status::invalid_context);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(memory, content, 64, stream), Status::invalid_context);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(content, memory, 64, stream), Status::invalid_context);
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 0, 64, stream), Status::invalid_context);
  EXPECT_EQ(driver.cuStreamCreate(&made, 0), Status::invalid_context);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), Status::invalid_context);
  EXPECT_EQ(driver.cuEventCreate(&made_event, 0), Status::invalid_context);
  EXPECT_EQ(driver.cuEventRecord(event, stream), Status::invalid_context);
  EXPECT_EQ(driver.cuModuleLoadData(&module, "x"), Status::invalid_context);
  EXPECT_EQ(driver.cuCtxSynchronize(), Status::invalid_context);
  EXPECT_EQ(driver.cuCtxGetDevice(&device), Status::invalid_context);
  EXPECT_EQ(driver.cuCtxEnablePeerAccess(rig.context(1), 0), Status::invalid_context);
  EXPECT_EQ(driver.cuCtxPopCurrent(nullptr), Status::invalid_context);
  EXPECT_EQ(driver.cuStreamQuery(stream), Status::success) << "a handle names its context";
}

TEST(Rules, ContextsAreAStackPerThread) {
  Rig rig("hgx-h200");
  const auto& driver = rig.driver();
  driver.cuCtxSetCurrent(nullptr);
  EXPECT_EQ(driver.cuCtxPushCurrent(rig.context(0)), Status::success);
  EXPECT_EQ(driver.cuCtxPushCurrent(rig.context(1)), Status::success);
  cu::Context context = nullptr;
  cu::Device device = -1;
  EXPECT_EQ(driver.cuCtxGetDevice(&device), Status::success);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(driver.cuCtxPopCurrent(&context), Status::success);
  EXPECT_EQ(context, rig.context(1));
  EXPECT_EQ(driver.cuCtxGetCurrent(&context), Status::success);
  EXPECT_EQ(context, rig.context(0));
  EXPECT_EQ(driver.cuCtxPopCurrent(&context), Status::success);
  EXPECT_EQ(driver.cuCtxGetCurrent(&context), Status::success);
  EXPECT_EQ(context, nullptr);
}

TEST(Rules, PrimaryContextsAreCounted) {
  auto simulation = Simulation::start(bare_machine(1)).value();
  const auto& driver = simulation->driver();
  unsigned flags = 7;
  int active = 7;
  cu::Context once = nullptr, twice = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(0, &flags, &active), Status::success);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&once, 0), Status::success);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&twice, 0), Status::success);
  EXPECT_EQ(once, twice);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), Status::success);
  driver.cuDevicePrimaryCtxGetState(0, &flags, &active);
  EXPECT_EQ(active, 1);
  driver.cuCtxPushCurrent(once);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), Status::success);
  cu::DevicePtr pointer = 0;
  EXPECT_EQ(driver.cuMemAlloc(&pointer, 64), Status::context_is_destroyed);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), Status::invalid_context);
  driver.cuCtxPopCurrent(nullptr);
  EXPECT_EQ(driver.cuCtxPushCurrent(once), Status::invalid_context);
}

TEST(Rules, HandlesThatNobodyMadeAreNeverFollowed) {
  Rig rig("laptop-1gpu");
  const auto& driver = rig.driver();
  const auto stream = reinterpret_cast<cu::Stream>(std::uintptr_t{0xDEAD0});
  const auto event = reinterpret_cast<cu::Event>(std::uintptr_t{0xDEAD0});
  const auto function = reinterpret_cast<cu::Function>(std::uintptr_t{0xDEAD0});
  const auto pool = reinterpret_cast<cu::Pool>(std::uintptr_t{0xDEAD0});
  const auto module = reinterpret_cast<cu::Module>(std::uintptr_t{0xDEAD0});
  const auto memory = rig.memory(0, 64);
  const cu::Stream good = rig.stream(0);
  cu::DevicePtr pointer = 0;
  void* parameters[1] = {};
  float milliseconds = 0;
  EXPECT_EQ(driver.cuStreamQuery(stream), Status::invalid_handle);
  EXPECT_EQ(driver.cuStreamDestroy(stream), Status::invalid_handle);
  EXPECT_EQ(driver.cuStreamDestroy(nullptr), Status::invalid_handle);
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 1, 64, stream), Status::invalid_handle);
  EXPECT_EQ(driver.cuEventQuery(event), Status::invalid_handle);
  EXPECT_EQ(driver.cuEventDestroy(event), Status::invalid_handle);
  EXPECT_EQ(driver.cuEventRecord(event, good), Status::invalid_handle);
  EXPECT_EQ(driver.cuStreamWaitEvent(good, event, 0), Status::invalid_handle);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, event, event), Status::invalid_handle);
  EXPECT_EQ(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, good, parameters, nullptr), Status::invalid_handle);
  EXPECT_EQ(driver.cuModuleUnload(module), Status::invalid_handle);
  EXPECT_EQ(driver.cuMemPoolDestroy(pool), Status::invalid_value);
  EXPECT_EQ(driver.cuMemAllocFromPoolAsync(&pointer, 64, pool, good), Status::invalid_value);
  EXPECT_EQ(driver.cuMemRelease(12345), Status::invalid_value);
}

TEST(Rules, DestroyedHandlesAreUnknown) {
  Rig rig("laptop-1gpu");
  const cu::Stream stream = rig.stream(0);
  const cu::Event event = rig.event(0);
  EXPECT_EQ(rig.driver().cuStreamDestroy(stream), Status::success);
  EXPECT_EQ(rig.driver().cuEventDestroy(event), Status::success);
  EXPECT_EQ(rig.driver().cuStreamQuery(stream), Status::invalid_handle);
  EXPECT_EQ(rig.driver().cuStreamDestroy(stream), Status::invalid_handle);
  EXPECT_EQ(rig.driver().cuEventSynchronize(event), Status::invalid_handle);
  EXPECT_NE(rig.stream(0), stream) << "handles do not come again";
}

TEST(Rules, EventsStayOnTheirGpu) {
  Rig rig("hgx-h200");
  const cu::Stream on_0 = rig.stream(0);
  const cu::Stream on_1 = rig.stream(1);
  const cu::Event of_0 = rig.mark(0, on_0);
  const cu::Event of_1 = rig.mark(1, on_1);
  float milliseconds = 0;
  EXPECT_EQ(rig.driver().cuEventRecord(of_0, on_1), Status::invalid_handle);
  EXPECT_EQ(rig.driver().cuEventElapsedTime(&milliseconds, of_0, of_1), Status::invalid_handle);
  EXPECT_EQ(rig.driver().cuStreamWaitEvent(on_1, of_0, 0), Status::success) << "waiting crosses GPUs";
  EXPECT_EQ(rig.driver().cuStreamWaitEvent(on_1, of_0, 1), Status::invalid_value);
}

TEST(Rules, ErrorNamesAreTheDrivers) {
  Rig rig("laptop-1gpu");
  const char* name = nullptr;
  EXPECT_EQ(rig.driver().cuGetErrorName(Status::out_of_memory, &name), Status::success);
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(rig.driver().cuGetErrorName(Status::peer_access_unsupported, &name), Status::success);
  EXPECT_STREQ(name, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");
  EXPECT_EQ(rig.driver().cuGetErrorName(static_cast<Status>(12345), &name), Status::invalid_value);
  EXPECT_EQ(name, nullptr);
}

TEST(Rules, EveryPresetDescribesItsGpus) {
  for (const std::string_view name : preset_names()) {
    Rig rig(name);
    for (int gpu = 0; gpu < rig.gpus(); ++gpu) {
      const Node& node = *rig.machine().gpu(gpu);
      char text[128] = {};
      EXPECT_EQ(rig.driver().cuDeviceGetName(text, sizeof text, gpu), Status::success);
      EXPECT_EQ(text, node.name);
      EXPECT_EQ(rig.driver().cuDeviceGetName(text, 4, gpu), Status::success);
      EXPECT_EQ(std::string(text), node.name.substr(0, 3));
      char pci[32] = {};
      EXPECT_EQ(rig.driver().cuDeviceGetPCIBusId(pci, sizeof pci, gpu), Status::success);
      EXPECT_EQ(pci, node.pci);
      int major = 0, engines = 0;
      rig.driver().cuDeviceGetAttribute(&major, cu::attribute_compute_major, gpu);
      rig.driver().cuDeviceGetAttribute(&engines, cu::attribute_async_engine_count, gpu);
      EXPECT_EQ(major, node.compute_major);
      EXPECT_GT(engines, 0);
      std::size_t bytes = 0;
      rig.driver().cuDeviceTotalMem(&bytes, gpu);
      EXPECT_EQ(bytes, node.memory);
      for (int peer = 0; peer < rig.gpus(); ++peer) {
        if (peer == gpu) continue;
        int can = -1;
        rig.driver().cuDeviceCanAccessPeer(&can, gpu, peer);
        EXPECT_EQ(can == 1, rig.machine().pair(gpu, peer)->access == Claim::yes) << name << gpu << peer;
      }
    }
    cu::Uuid first{}, last{};
    rig.driver().cuDeviceGetUuid(&first, 0);
    rig.driver().cuDeviceGetUuid(&last, rig.gpus() - 1);
    EXPECT_EQ(std::memcmp(&first, &last, sizeof first) == 0, rig.gpus() == 1);
  }
}

}  // namespace
}  // namespace peerlane::sim

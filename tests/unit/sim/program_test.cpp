/// Random programs of driver calls against an oracle that copies bytes at once, in the order of the calls.

#include "rig.hpp"

namespace peerlane::sim {
namespace {

constexpr Bytes block = 4096;

/// One stream per GPU; every operation is ordered after all earlier ones by an event, so that the oracle may be simple.
class Program {
 public:
  Program(std::string_view machine, std::uint64_t seed) : rig_(machine, {.seed = seed, .noise = 0.2}) {
    for (int gpu = 0; gpu < rig_.gpus(); ++gpu) {
      streams_.push_back(rig_.stream(gpu));
      add_block(gpu, rig_.memory(gpu, block), 0xD7);
    }
    unsigned char* pinned = rig_.pinned(block);
    add_block(-1, reinterpret_cast<cu::DevicePtr>(pinned), 0xD7);
  }

  void toggle_access(int reader, int owner) {
    rig_.use(reader);
    const auto& driver = rig_.driver();
    if (driver.cuCtxEnablePeerAccess(rig_.context(owner), 0) == Status::peer_access_already_enabled) {
      RC_ASSERT(driver.cuCtxDisablePeerAccess(rig_.context(owner)) == Status::success);
    }
  }

  void copy(std::size_t from, std::size_t to, Bytes from_offset, Bytes to_offset, Bytes bytes, int on) {
    rig_.use(on);
    order_after_last(on);
    const cu::DevicePtr source = blocks_[from].address + from_offset, destination = blocks_[to].address + to_offset;
    RC_ASSERT(rig_.driver().cuMemcpyAsync(destination, source, bytes, streams_[on]) == Status::success);
    last_on_ = on;
    const Content moved(blocks_[from].expected.begin() + from_offset,
                        blocks_[from].expected.begin() + from_offset + bytes);
    std::copy(moved.begin(), moved.end(), blocks_[to].expected.begin() + to_offset);
  }

  void set(std::size_t to, Bytes offset, Bytes bytes, unsigned char value) {
    const int on = std::max(blocks_[to].gpu, 0);
    rig_.use(on);
    order_after_last(on);
    RC_ASSERT(rig_.driver().cuMemsetD8Async(blocks_[to].address + offset, value, bytes, streams_[on]) ==
              Status::success);
    last_on_ = on;
    std::fill_n(blocks_[to].expected.begin() + offset, bytes, value);
  }

  void check() {
    for (int gpu = 0; gpu < rig_.gpus(); ++gpu) {
      RC_ASSERT(rig_.driver().cuStreamSynchronize(streams_[gpu]) == Status::success);
    }
    for (const Block& b : blocks_) RC_ASSERT(rig_.read(b.address, block, std::max(b.gpu, 0)) == b.expected);
  }

  std::size_t blocks() const { return blocks_.size(); }
  int gpus() { return rig_.gpus(); }

 private:
  struct Block {
    int gpu;
    cu::DevicePtr address;
    Content expected;
  };
  void add_block(int gpu, cu::DevicePtr address, unsigned char value) {
    blocks_.push_back({gpu, address, Content(block, value)});
  }
  void order_after_last(int on) {
    if (last_on_ < 0 || last_on_ == on) return;
    const cu::Event event = rig_.mark(last_on_, streams_[last_on_]);
    RC_ASSERT(rig_.driver().cuStreamWaitEvent(streams_[on], event, 0) == Status::success);
    RC_ASSERT(rig_.driver().cuEventDestroy(event) == Status::success);
    rig_.use(on);
  }

  Rig rig_;
  std::vector<cu::Stream> streams_;
  std::vector<Block> blocks_;
  int last_on_ = -1;
};

RC_GTEST_PROP(RandomProgram, MovesTheBytesThatTheOracleMoves, ()) {
  const auto names = preset_names();
  Program program(names[*rc::gen::inRange<std::size_t>(0, names.size())], *rc::gen::arbitrary<std::uint64_t>());
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const int kind = *rc::gen::inRange(0, 8);
    const auto to = *rc::gen::inRange<std::size_t>(0, program.blocks());
    const auto offset = *rc::gen::inRange<Bytes>(0, block);
    const auto bytes = *rc::gen::inRange<Bytes>(0, block - offset + 1);
    if (kind == 0) {
      const int reader = *rc::gen::inRange(0, program.gpus()), owner = *rc::gen::inRange(0, program.gpus());
      program.toggle_access(reader, owner);
    } else if (kind < 3) {
      program.set(to, offset, bytes, *rc::gen::arbitrary<unsigned char>());
    } else {
      const auto from = *rc::gen::inRange<std::size_t>(0, program.blocks());
      const auto from_offset = *rc::gen::inRange<Bytes>(0, block - bytes + 1);
      program.copy(from, to, from_offset, offset, bytes, *rc::gen::inRange(0, program.gpus()));
    }
  }
  program.check();
}

/// Any call with any handle, alive or dead: an error code at worst, never a crash.
RC_GTEST_PROP(RandomProgram, NonsenseIsAnsweredWithAnError, ()) {
  Rig rig("rtx3090-pair");
  std::vector<cu::DevicePtr> pointers = {0, rig.memory(0, block), rig.memory(1, block)};
  std::vector<cu::Stream> streams = {nullptr, rig.stream(0), rig.stream(1)};
  std::vector<cu::Event> events = {nullptr, rig.event(0), rig.event(1)};
  const auto& driver = rig.driver();
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const auto pointer = pointers[*rc::gen::inRange<std::size_t>(0, pointers.size())];
    const auto other = pointers[*rc::gen::inRange<std::size_t>(0, pointers.size())];
    const auto stream = streams[*rc::gen::inRange<std::size_t>(0, streams.size())];
    const auto event = events[*rc::gen::inRange<std::size_t>(0, events.size())];
    const auto bytes = *rc::gen::element<std::size_t>(0, 1, block, block + 1, ~std::size_t{0});
    rig.use(*rc::gen::inRange(0, 2));
    cu::DevicePtr made = 0;
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
        if (driver.cuMemAlloc(&made, block) == Status::success) pointers.push_back(made);
        break;
      case 1:
        driver.cuMemFree(pointer);
        break;
      case 2:
        driver.cuMemcpyDtoDAsync(pointer, other, bytes, stream);
        break;
      case 3:
        driver.cuMemsetD8Async(pointer, 1, bytes, stream);
        break;
      case 4:
        driver.cuEventRecord(event, stream);
        break;
      case 5:
        driver.cuStreamWaitEvent(stream, event, 0);
        break;
      case 6:
        driver.cuStreamDestroy(stream);
        break;
      case 7:
        driver.cuEventDestroy(event);
        break;
      case 8:
        driver.cuStreamSynchronize(stream);
        break;
      case 9:
        driver.cuEventQuery(event);
        break;
      case 10:
        driver.cuMemFreeAsync(pointer, stream);
        break;
      default:
        driver.cuMemGetAddressRange(&made, nullptr, pointer + bytes);
    }
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    rig.use(gpu);
    RC_ASSERT(driver.cuCtxSynchronize() == Status::success);
  }
}

}  // namespace
}  // namespace peerlane::sim

#include "engine/digester.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "base/digest.hpp"
#include "base/try.hpp"
#include "memory/file.hpp"

namespace peerlane::engine {

namespace {

using vendor::check;
using vendor::ContextScope;

constexpr Bytes piece_bytes = 4_MiB;  // a multiple of 8, as the digest wants

/// A borrowed stream that comes back only when it is quiet; leases that outlive a stuck engine.
class GpuErrand {
 public:
  GpuErrand(Rooms& rooms, int gpu) : rooms_(rooms), gpu_(gpu) {}
  ~GpuErrand() {
    if (stuck_) {
      rooms_.contexts->abandon(gpu_);
      return;
    }
    if (stream_ != nullptr) rooms_.streams.give_back(gpu_, stream_);
    for (auto lease : leases_) rooms_.memory->leases().end(lease);
  }
  GpuErrand(const GpuErrand&) = delete;
  GpuErrand& operator=(const GpuErrand&) = delete;

  Result<void> begin() {
    context_ = PEERLANE_TRY(rooms_.contexts->context(gpu_));
    stream_ = PEERLANE_TRY(rooms_.streams.borrow(gpu_));
    return {};
  }
  void hold(const Region& region) { leases_.push_back(rooms_.memory->leases().hold(region)); }
  cu::Context context() const { return context_; }
  cu::Stream stream() const { return stream_; }

  Result<void> wait(TimePoint deadline) {
    const std::string where = to_string(peerlane::gpu(gpu_));
    Result<void> outcome;
    bool quiet = false;
    const bool over = rooms_.workers.wait(
        [&] {
          ContextScope scope(rooms_.driver(), context_);
          const cu::Status status = rooms_.driver().cuStreamQuery(stream_);
          quiet = status == cu::Status::success;
          // After an error that leaves the GPU alive the kernel may still run: ask on until the stream is quiet.
          if (!quiet && status != cu::Status::not_ready)
            outcome = check(rooms_.driver(), status, "cuStreamQuery", where);
          return quiet || (!outcome && outcome.error().kind == ErrorKind::device_lost);
        },
        deadline);
    stuck_ = !quiet;
    if (!over && outcome) return fail(ErrorKind::timeout, "the GPU was not done when the deadline passed", where);
    return outcome;
  }

 private:
  Rooms& rooms_;
  int gpu_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  std::vector<memory::Leases::Ticket> leases_;
  bool stuck_ = false;
};

}  // namespace

Result<std::uint64_t> Digester::digest(const Region& region, TimePoint deadline) {
  if (region.place.kind == PlaceKind::gpu && rooms_.kernels.available(region.place.index)) {
    return digest::finish(PEERLANE_TRY(sum_on_gpu(region, deadline)), region.bytes);
  }
  auto sum = std::make_shared<std::atomic<std::uint64_t>>(0);
  if (region.place.kind == PlaceKind::gpu) {
    PEERLANE_TRY(through_host(region, Through::read, deadline, [sum](const Region& slot, Bytes offset) {
      sum->fetch_add(digest::sum(slot.data(), slot.bytes, offset), std::memory_order_relaxed);
    }));
  } else if (region.place.kind == PlaceKind::file) {
    PEERLANE_TRY(
        for_each_piece(region, WorkKind::file_read, deadline, [sum](const Region& piece, Bytes offset) -> Result<void> {
          const std::unique_ptr<std::byte[]> bytes(new std::byte[piece.bytes]);
          PEERLANE_TRY(piece.file->read(bytes.get(), piece.bytes, piece.address));
          sum->fetch_add(digest::sum(bytes.get(), piece.bytes, offset), std::memory_order_relaxed);
          return {};
        }));
  } else {
    PEERLANE_TRY(
        for_each_piece(region, WorkKind::cpu_copy, deadline, [sum](const Region& piece, Bytes offset) -> Result<void> {
          sum->fetch_add(digest::sum(piece.data(), piece.bytes, offset), std::memory_order_relaxed);
          return {};
        }));
  }
  return digest::finish(sum->load(), region.bytes);
}

Result<void> Digester::fill(const Region& region, std::uint64_t seed, TimePoint deadline) {
  switch (region.place.kind) {
    case PlaceKind::gpu:
      if (rooms_.kernels.available(region.place.index)) return fill_on_gpu(region, seed, deadline);
      return through_host(region, Through::write, deadline, [seed](const Region& slot, Bytes offset) {
        digest::fill(slot.data(), slot.bytes, offset, seed);
      });
    case PlaceKind::file:
      return for_each_piece(region, WorkKind::file_write, deadline,
                            [seed](const Region& piece, Bytes offset) -> Result<void> {
                              const std::unique_ptr<std::byte[]> bytes(new std::byte[piece.bytes]);
                              digest::fill(bytes.get(), piece.bytes, offset, seed);
                              return piece.file->write(bytes.get(), piece.bytes, piece.address);
                            });
    case PlaceKind::host:
    case PlaceKind::mem:
      break;
  }
  return for_each_piece(region, WorkKind::cpu_copy, deadline,
                        [seed](const Region& piece, Bytes offset) -> Result<void> {
                          digest::fill(piece.data(), piece.bytes, offset, seed);
                          return {};
                        });
}

Result<std::uint64_t> Digester::sum_on_gpu(const Region& region, TimePoint deadline) {
  // Added up in the GPU's own memory: atomics on host memory are not native over PCIe, and memcheck on an H200 refuses
  // them.
  const Buffer sum = PEERLANE_TRY(rooms_.memory->allocate(region.place, sizeof(std::uint64_t)));
  const Buffer landing = PEERLANE_TRY(rooms_.memory->allocate(host(), sizeof(std::uint64_t)));
  const vendor::CudaDriver& driver = rooms_.driver();
  const std::string where = to_string(region.place);
  GpuErrand errand(rooms_, region.place.index);
  PEERLANE_TRY(errand.begin());
  errand.hold(sum);
  errand.hold(landing);
  errand.hold(region);
  Result<void> enqueued;
  {
    ContextScope scope(driver, errand.context());
    enqueued = check(driver, scope.status(), "cuCtxPushCurrent", where);
    if (enqueued)
      enqueued = check(driver, driver.cuMemsetD8Async(sum.region().address, 0, sum.bytes(), errand.stream()),
                       "cuMemsetD8Async", where);
    if (enqueued)
      enqueued = rooms_.kernels.digest(region.place.index, region, 0, sum.region().address, errand.stream());
    if (enqueued)
      enqueued =
          check(driver, driver.cuMemcpyDtoHAsync(landing.data(), sum.region().address, sum.bytes(), errand.stream()),
                "cuMemcpyDtoHAsync", where);
  }
  // Also after a failure: what was enqueued before it must be over before its memory goes.
  auto over = errand.wait(deadline);
  PEERLANE_TRY(enqueued);
  PEERLANE_TRY(over);
  std::uint64_t value = 0;
  std::memcpy(&value, landing.data(), sizeof value);
  return value;
}

Result<void> Digester::fill_on_gpu(const Region& region, std::uint64_t seed, TimePoint deadline) {
  GpuErrand errand(rooms_, region.place.index);
  PEERLANE_TRY(errand.begin());
  errand.hold(region);
  {
    ContextScope scope(rooms_.driver(), errand.context());
    PEERLANE_TRY(check(rooms_.driver(), scope.status(), "cuCtxPushCurrent", to_string(region.place)));
    PEERLANE_TRY(rooms_.kernels.fill(region.place.index, region, 0, seed, errand.stream()));
  }
  return errand.wait(deadline);
}

Result<void> Digester::through_host(const Region& region, Through way, TimePoint deadline,
                                    const std::function<void(const Region& slot, Bytes offset)>& work) {
  const vendor::CudaDriver& driver = rooms_.driver();
  const std::string where = to_string(region.place);
  const Buffer slot = PEERLANE_TRY(rooms_.memory->allocate(host(), std::min(piece_bytes, region.bytes)));
  GpuErrand errand(rooms_, region.place.index);
  PEERLANE_TRY(errand.begin());
  errand.hold(slot);
  errand.hold(region);
  for (Bytes offset = 0; offset < region.bytes; offset += piece_bytes) {
    const Region piece = region.slice(offset, std::min(piece_bytes, region.bytes - offset));
    const Region staged = slot.region().slice(0, piece.bytes);
    if (way == Through::write) work(staged, offset);
    {
      ContextScope scope(driver, errand.context());
      PEERLANE_TRY(check(driver, scope.status(), "cuCtxPushCurrent", where));
      PEERLANE_TRY(check(driver,
                         way == Through::read
                             ? driver.cuMemcpyDtoHAsync(staged.data(), piece.address, piece.bytes, errand.stream())
                             : driver.cuMemcpyHtoDAsync(piece.address, staged.data(), piece.bytes, errand.stream()),
                         "cuMemcpyAsync", where));
    }
    PEERLANE_TRY(errand.wait(deadline));
    if (way == Through::read) work(staged, offset);
  }
  return {};
}

Result<void> Digester::for_each_piece(const Region& region, WorkKind kind, TimePoint deadline,
                                      std::function<Result<void>(const Region& piece, Bytes offset)> work) {
  struct Errand {
    std::function<Result<void>(const Region&, Bytes)> work;
    std::atomic<Bytes> open{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    Result<void> outcome;
  };
  auto errand = std::make_shared<Errand>();
  errand->work = std::move(work);
  errand->open = (region.bytes + piece_bytes - 1) / piece_bytes;
  for (Bytes offset = 0; offset < region.bytes; offset += piece_bytes) {
    const Region piece = region.slice(offset, std::min(piece_bytes, region.bytes - offset));
    rooms_.workers.post({[errand, piece, offset] {
                           if (!errand->stop) {
                             if (auto done = errand->work(piece, offset); !done) {
                               std::lock_guard lock(errand->mutex);
                               if (errand->outcome) errand->outcome = std::move(done);
                               errand->stop = true;
                             }
                           }
                           --errand->open;
                         },
                         kind, piece.bytes});
  }
  const auto over = [&] { return errand->open == 0; };
  if (!rooms_.workers.wait(over, deadline)) {
    errand->stop = true;  // what has begun is finished before the memory may go
    rooms_.workers.wait(over, TimePoint::max());
    return fail(ErrorKind::timeout, "the bytes were not all read when the deadline passed", to_string(region.place));
  }
  std::lock_guard lock(errand->mutex);
  return errand->outcome;
}

}  // namespace peerlane::engine

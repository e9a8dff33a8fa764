#include "memory/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>

#include "base/text.hpp"
#include "base/try.hpp"
#include "machine/paths.hpp"

namespace peerlane::memory {
namespace {

using vendor::check;
using vendor::ContextScope;

constexpr Bytes most_bytes = Bytes{1} << 56;  // no machine has more, and rounding up cannot overflow below it

std::string places_of(const Machine& machine, int gpu_count) {
  std::vector<std::string> names;
  for (int gpu = 0; gpu < gpu_count; ++gpu) names.push_back(to_string(peerlane::gpu(gpu)));
  names.push_back(to_string(host()));
  for (const int node : machine.numa_nodes()) names.push_back(to_string(host(node)));
  names.push_back(to_string(mem()));
  return join(names);
}

tl::unexpected<Error> out_of_memory(Place place, Bytes asked, std::optional<Bytes> free, std::string hint,
                                    int code = 0) {
  std::string what = format_bytes(asked) + " were asked for";
  if (free) what += ", " + format_bytes(*free) + " are free";
  return fail(ErrorKind::no_memory, std::move(what), to_string(place), std::move(hint), code);
}

/// What the kernel could still hand out without swapping; nothing where /proc is not mounted.
std::optional<Bytes> available_host_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  Bytes kilobytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes << 10;
  }
  return std::nullopt;
}

/// Linux promises memory that it does not have; touching it then ends in the out-of-memory killer, not in an error.
Result<void> check_host_room(Place place, Bytes bytes) {
  const std::optional<Bytes> available = available_host_memory();
  if (!available || bytes <= *available) return {};
  return out_of_memory(place, bytes, available, "free some, or ask for less");
}

void* map_pages(Bytes bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void* pages_near(const vendor::CudaDriver& driver, Bytes bytes, int node) {
  return driver.host_pages != nullptr ? driver.host_pages(bytes, node) : map_pages(bytes);
}

void drop_pages(const vendor::CudaDriver& driver, void* pages, Bytes bytes) noexcept {
  if (driver.free_host_pages != nullptr) {
    driver.free_host_pages(pages, bytes);
  } else {
    munmap(pages, bytes);
  }
}

/// Makes the kernel place every page now; false when it has none left.
bool touch(void* pages, Bytes bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(pages, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
#endif
  // Kernels before 5.14: one write to each page.
  const auto page = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  auto* bytes_of = static_cast<volatile unsigned char*>(pages);
  for (Bytes at = 0; at < bytes; at += page) bytes_of[at] = bytes_of[at];
  return true;
}

}  // namespace

Memory::Memory(std::shared_ptr<Contexts> contexts, const Machine& machine)
    : contexts_(std::move(contexts)), machine_(machine) {}

Result<Buffer> Memory::allocate(Place place, Bytes bytes) {
  PEERLANE_TRY(check_place(place));
  if (bytes > most_bytes) {
    return fail(ErrorKind::invalid_argument, format_bytes(bytes) + " were asked for, more than any machine has",
                to_string(place));
  }
  if (bytes == 0) return Buffer(Region{place}, nullptr);
  Result<std::uint64_t> address = take(place, bytes);
  if (!address && address.error().kind == ErrorKind::no_memory) {
    std::lock_guard lock(short_mutex_);
    if (when_short_ && when_short_()) address = take(place, bytes);
  }
  return Buffer(Region{place, PEERLANE_TRY(std::move(address)), bytes}, shared_from_this());
}

Result<void> Memory::check_place(Place place) const {
  const std::vector<int> nodes = machine_.numa_nodes();
  const auto there_is = [&] {
    switch (place.kind) {
      case PlaceKind::gpu:
        return place.index >= 0 && place.index < contexts_->gpu_count();
      case PlaceKind::host:
        return place.index == Place::any || std::find(nodes.begin(), nodes.end(), place.index) != nodes.end();
      case PlaceKind::mem:
        return place.index == Place::any;
      case PlaceKind::file:
        return true;
    }
    return false;
  };
  if (!there_is()) {
    return fail(ErrorKind::not_found, "no such place here; there are " + places_of(machine_, contexts_->gpu_count()),
                to_string(place));
  }
  if (place.kind == PlaceKind::file) {
    return fail(ErrorKind::invalid_argument, "a file is opened, not allocated", to_string(place));
  }
  return {};
}

Result<std::uint64_t> Memory::take(Place place, Bytes bytes) {
  switch (place.kind) {
    case PlaceKind::gpu:
      return take_from_gpu(place.index, bytes);
    case PlaceKind::host:
      return take_pinned(place, bytes);
    default:
      return take_pages(bytes);
  }
}

Result<std::uint64_t> Memory::take_from_gpu(int gpu, Bytes bytes) {
  const vendor::CudaDriver& driver = contexts_->driver();
  const Place place = peerlane::gpu(gpu);
  ContextScope scope(driver, PEERLANE_TRY(contexts_->context(gpu)));
  PEERLANE_TRY(check(driver, scope.status(), "cuCtxPushCurrent", to_string(place)));
  cu::DevicePtr address = 0;
  const cu::Status status = driver.cuMemAlloc(&address, bytes);
  if (status == cu::Status::success) return address;
  if (status != cu::Status::out_of_memory) {
    return tl::unexpected(driver_error(driver, status, "cuMemAlloc", to_string(place)));
  }
  std::size_t free = 0;
  std::size_t total = 0;
  const bool told = driver.cuMemGetInfo(&free, &total) == cu::Status::success;
  const std::string hint = told ? "the GPU has " + format_bytes(total) : "";
  return out_of_memory(place, bytes, told ? std::optional<Bytes>(free) : std::nullopt, hint, static_cast<int>(status));
}

Result<std::uint64_t> Memory::take_pinned(Place place, Bytes bytes) {
  const vendor::CudaDriver& driver = contexts_->driver();
  PEERLANE_TRY(check_host_room(place, bytes));
  void* pages = pages_near(driver, bytes, place.index);
  if (pages == nullptr || !touch(pages, bytes)) {
    if (pages != nullptr) drop_pages(driver, pages, bytes);
    return out_of_memory(place, bytes, available_host_memory(), "this NUMA node or a control group may hold less");
  }
  if (auto pinned = pin(place, pages, bytes); !pinned) {
    drop_pages(driver, pages, bytes);
    return tl::unexpected(std::move(pinned).error());
  }
  return reinterpret_cast<std::uint64_t>(pages);
}

Result<std::uint64_t> Memory::take_pages(Bytes bytes) {
  PEERLANE_TRY(check_host_room(mem(), bytes));
  void* pages = map_pages(bytes);
  if (pages == nullptr) return out_of_memory(mem(), bytes, available_host_memory(), "", errno);
  return reinterpret_cast<std::uint64_t>(pages);
}

/// Without a GPU nothing would read the pages by DMA, so there is nothing to pin them for. Any GPU's context can pin,
/// so a lost one does not matter while another works.
Result<void> Memory::pin(Place place, void* pages, Bytes bytes) {
  if (contexts_->gpu_count() == 0) return {};
  Result<void> pinned =
      fail(ErrorKind::device_lost, "every GPU was given up, so nothing can pin host memory", to_string(place));
  for (const int gpu : gpus_near(place.index)) {
    pinned = pin_with(gpu, place, pages, bytes);
    if (pinned || pinned.error().kind != ErrorKind::device_lost) break;
  }
  return pinned;
}

Result<void> Memory::pin_with(int gpu, Place place, void* pages, Bytes bytes) {
  const vendor::CudaDriver& driver = contexts_->driver();
  ContextScope scope(driver, PEERLANE_TRY(contexts_->context(gpu)));
  PEERLANE_TRY(check(driver, scope.status(), "cuCtxPushCurrent", to_string(place)));
  const cu::Status status = driver.cuMemHostRegister(pages, bytes, cu::host_register_portable);
  if (status == cu::Status::success) return {};
  Error error = driver_error(driver, status, "cuMemHostRegister", to_string(place));
  if (error.kind == ErrorKind::no_memory) {
    error.what = format_bytes(bytes) + " could not be pinned: " + error.what;
    error.hint = "`ulimit -l` and the control group limit pinned memory";
  }
  return tl::unexpected(std::move(error));
}

/// Whether the driver has let go of the pages.
bool Memory::unpin(void* pages) noexcept {
  if (contexts_->gpu_count() == 0) return true;
  const vendor::CudaDriver& driver = contexts_->driver();
  for (const int gpu : gpus_near(Place::any)) {
    const auto context = contexts_->context(gpu);
    if (!context) continue;
    ContextScope scope(driver, *context);
    if (scope.status() == cu::Status::success && driver.cuMemHostUnregister(pages) == cu::Status::success) return true;
  }
  // The call reports earlier errors too, and may have done its work all the same.
  const auto facts = pointer_facts(driver, pages);
  return facts && facts->kind == AllocationKind::pageable;
}

/// Usable GPUs, those whose context exists already first (a new one takes hundreds of MiB), then those near the node.
std::vector<int> Memory::gpus_near(int node) const {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < contexts_->gpu_count(); ++gpu) {
    if (!contexts_->abandoned(gpu)) gpus.push_back(gpu);
  }
  const auto rank = [&](int gpu) {
    const bool near = node == Place::any || machine::nearest_numa(machine_, gpu) == node;
    return std::pair(!contexts_->retained(gpu), !near);
  };
  std::stable_sort(gpus.begin(), gpus.end(), [&](int a, int b) { return rank(a) < rank(b); });
  return gpus;
}

void Memory::release(const Region& region) noexcept {
  if (region.bytes == 0) return;
  const bool taken_over = leases_.take_over(region, [self = shared_from_this(), region] { self->give_back(region); });
  if (!taken_over) give_back(region);
}

void Memory::give_back(const Region& region) noexcept {
  const vendor::CudaDriver& driver = contexts_->driver();
  switch (region.place.kind) {
    case PlaceKind::gpu: {
      if (contexts_->abandoned(region.place.index)) return;
      const auto context = contexts_->context(region.place.index);
      if (!context) return;
      ContextScope scope(driver, *context);
      if (scope.status() == cu::Status::success) driver.cuMemFree(region.address);
      return;
    }
    case PlaceKind::host:
      // What the driver does not let go of, an engine may still write to: such pages stay.
      if (unpin(region.data())) drop_pages(driver, region.data(), region.bytes);
      return;
    case PlaceKind::mem:
      munmap(region.data(), region.bytes);
      return;
    case PlaceKind::file:
      return;
  }
}

void Memory::when_short(std::function<bool()> give_back) {
  std::lock_guard lock(short_mutex_);
  when_short_ = std::move(give_back);
}

}  // namespace peerlane::memory

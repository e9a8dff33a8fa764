#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>
#include <cerrno>

#include "base/text.hpp"
#include "base/try.hpp"
#include "memory/memory.hpp"

namespace peerlane::memory {
namespace {

std::string hex(const void* pointer) {
  return fmt::format("{}", pointer);
}

/// Asks the driver about one address, question by question.
class Inquiry {
 public:
  Inquiry(const vendor::CudaDriver& driver, const void* pointer) : driver_(driver), pointer_(pointer) {}

  /// False where the driver does not know the address or has no answer for this kind of memory.
  template <class T>
  Result<bool> ask(cu::PointerAttribute attribute, T& answer) const {
    T value{};
    const cu::Status status =
        driver_.cuPointerGetAttribute(&value, attribute, reinterpret_cast<cu::DevicePtr>(pointer_));
    if (status == cu::Status::invalid_value || status == cu::Status::not_supported) return false;
    if (status != cu::Status::success) {
      return tl::unexpected(driver_error(driver_, status, "cuPointerGetAttribute", hex(pointer_)));
    }
    answer = value;
    return true;
  }

 private:
  const vendor::CudaDriver& driver_;
  const void* pointer_;
};

Result<AllocationKind> device_kind(const Inquiry& inquiry, cu::Context context) {
  unsigned managed = 0;
  PEERLANE_TRY(inquiry.ask(cu::pointer_is_managed, managed));
  if (managed != 0) return AllocationKind::managed;
  cu::Pool pool = nullptr;
  PEERLANE_TRY(inquiry.ask(cu::pointer_pool, pool));
  if (pool != nullptr) return AllocationKind::pool;
  // Mapped physical memory belongs to a device, not to a context.
  return context == nullptr ? AllocationKind::vmm : AllocationKind::device;
}

/// Can this process read the byte there? Device addresses are reserved ranges without access, so they answer no.
bool readable(const std::byte* address) {
  std::byte copy;
  iovec into{&copy, 1};
  iovec from{const_cast<std::byte*>(address), 1};
  if (process_vm_readv(getpid(), &into, 1, &from, 1, 0) == 1) return true;
  return errno != EFAULT;  // where a sandbox forbids the call, nothing is known against the address
}

Result<Region> pageable_region(const void* pointer, Bytes bytes) {
  const auto* first = static_cast<const std::byte*>(pointer);
  if (bytes > 0 && !(readable(first) && readable(first + (bytes - 1)))) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("the {} there are neither host memory of this process nor known to the driver",
                            format_bytes(bytes)),
                hex(pointer), "the memory may have been freed, or the size may be wrong");
  }
  return Region{mem(), reinterpret_cast<std::uint64_t>(pointer), bytes};
}

Result<void> check_bounds(const PointerFacts& facts, const void* pointer, Bytes bytes) {
  if (facts.bytes == 0) return {};
  const Bytes before = reinterpret_cast<std::uint64_t>(pointer) - facts.base;
  if (before <= facts.bytes && bytes <= facts.bytes - before) return {};
  return fail(ErrorKind::invalid_argument,
              fmt::format("{} from there on leave their allocation, which has {} left of {}", format_bytes(bytes),
                          format_bytes(facts.bytes - before), format_bytes(facts.bytes)),
              hex(pointer));
}

}  // namespace

Result<PointerFacts> pointer_facts(const vendor::CudaDriver& driver, const void* pointer) {
  PointerFacts facts;
  if (driver.cuPointerGetAttribute == nullptr) return facts;  // no driver on this machine: it can know no address
  const Inquiry inquiry(driver, pointer);
  unsigned type = 0;
  if (!PEERLANE_TRY(inquiry.ask(cu::pointer_memory_type, type))) return facts;
  PEERLANE_TRY(inquiry.ask(cu::pointer_context, facts.context));
  PEERLANE_TRY(inquiry.ask(cu::pointer_buffer_id, facts.buffer_id));
  cu::DevicePtr base = 0;
  std::size_t bytes = 0;
  if (PEERLANE_TRY(inquiry.ask(cu::pointer_range_start, base)) &&
      PEERLANE_TRY(inquiry.ask(cu::pointer_range_size, bytes))) {
    facts.base = base;
    facts.bytes = bytes;
  }
  if (type == cu::memory_host) {
    facts.kind = AllocationKind::host_pinned;
    return facts;
  }
  facts.kind = PEERLANE_TRY(device_kind(inquiry, facts.context));
  PEERLANE_TRY(inquiry.ask(cu::pointer_device_ordinal, facts.gpu));
  return facts;
}

Result<Region> Memory::origin(const void* pointer, Bytes bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (pointer == nullptr && bytes > 0) {
    return fail(ErrorKind::invalid_argument, "a null pointer was given for " + format_bytes(bytes));
  }
  if (address + bytes < address) {
    return fail(ErrorKind::invalid_argument, format_bytes(bytes) + " from there on leave the address space",
                hex(pointer));
  }
  const PointerFacts facts = PEERLANE_TRY(pointer_facts(contexts_->driver(), pointer));
  if (facts.kind == AllocationKind::pageable) return pageable_region(pointer, bytes);
  PEERLANE_TRY(check_bounds(facts, pointer, bytes));
  const Place place = facts.kind == AllocationKind::host_pinned ? host() : gpu(facts.gpu);
  return Region{place, address, bytes};
}

}  // namespace peerlane::memory

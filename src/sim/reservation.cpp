#include "sim/reservation.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace peerlane::sim {
namespace {

constexpr Bytes page_bytes = 4096;
constexpr Bytes huge_page_bytes = 2_MiB;
constexpr Bytes poison_bytes = 16_MiB;
constexpr Bytes most_bytes = Bytes{1} << 45;  // more than any machine has, less than there are addresses

Bytes whole_pages(Bytes bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// A file full of poison: mapped privately it reads as poison and costs nothing until it is written. Made once a
/// process and kept, like the page of zeros that the kernel maps into fresh memory. -1 where the system has no such
/// files.
int poison_file() {
  static const int file = [] {
    const int made = memfd_create("poison", MFD_CLOEXEC);
    if (made < 0) return -1;
    void* bytes = ftruncate(made, poison_bytes) == 0
                      ? mmap(nullptr, poison_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0)
                      : MAP_FAILED;
    if (bytes == MAP_FAILED) {
      close(made);
      return -1;
    }
    std::memset(bytes, std::to_integer<int>(poison), poison_bytes);
    munmap(bytes, poison_bytes);
    return made;
  }();
  return file;
}

bool furnish_with(int file, std::byte* at, Bytes bytes) {
  for (Bytes done = 0; done < bytes; done += poison_bytes) {
    const Bytes piece = std::min(poison_bytes, bytes - done);
    if (mmap(at + done, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) ==
        MAP_FAILED) {
      return false;
    }
  }
  return true;
}

bool furnish_by_hand(std::byte* at, Bytes bytes) {
  if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  std::memset(at, std::to_integer<int>(poison), bytes);
  return true;
}

std::byte* reserve(Bytes bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

Reservation Reservation::of(Bytes bytes, Bytes alignment) {
  if (bytes == 0 || bytes > most_bytes || alignment > most_bytes) return {};
  if (bytes >= huge_page_bytes) alignment = std::max(alignment, huge_page_bytes);
  const Bytes whole = whole_pages(bytes);
  if (alignment <= page_bytes) {
    std::byte* at = reserve(whole);
    return at != nullptr ? Reservation(at, whole) : Reservation();
  }
  std::byte* roomy = reserve(whole + alignment);
  if (roomy == nullptr) return {};
  const Bytes before = (alignment - reinterpret_cast<std::uint64_t>(roomy) % alignment) % alignment;
  std::byte* at = roomy + before;
  if (before > 0) munmap(roomy, before);
  munmap(at + whole, alignment - before);
  return {at, whole};
}

Reservation::~Reservation() {
  if (at_ != nullptr) munmap(at_, bytes_);
}

bool Reservation::furnish() {
  written_.assign(bytes_ / huge_page_bytes, false);
  const int file = poison_file();
  return file >= 0 ? furnish_with(file, at_, bytes_) : furnish_by_hand(at_, bytes_);
}

void Reservation::expect_overwrite(const std::byte* at, Bytes bytes) {
  if (address() % huge_page_bytes != 0) return;
  const auto begin = static_cast<Bytes>(at - at_);
  const Bytes first = (begin + huge_page_bytes - 1) / huge_page_bytes;
  const Bytes end = std::min<Bytes>((begin + bytes) / huge_page_bytes, written_.size());
  for (Bytes page = first; page < end; ++page) {
    if (written_[page]) continue;
    std::byte* fresh = at_ + page * huge_page_bytes;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    if (mmap(fresh, huge_page_bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
      return;  // poison stays: also good
    madvise(fresh, huge_page_bytes, MADV_HUGEPAGE);
    written_[page] = true;
  }
}

void Reservation::clear() {
  mmap(at_, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace peerlane::sim

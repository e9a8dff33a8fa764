#include "sim/memory.hpp"

#include <algorithm>

namespace peerlane::sim {
namespace {

/// The entry whose base is at or before the address.
template <class Map>
auto at_or_before(const Map& map, std::uint64_t address) {
  auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

Reservation AddressBook::take(Bytes bytes) {
  const auto same_size = [&](std::uint64_t base) {
    const Bytes size = graves_.at(base).bytes();
    return size >= bytes && size - bytes < 4096;
  };
  const auto last = std::find_if(burials_.rbegin(), burials_.rend(), same_size);
  if (last == burials_.rend()) return Reservation::of(bytes);
  auto grave = graves_.extract(*last);
  burials_.erase(std::next(last).base());
  return std::move(grave.mapped());
}

void AddressBook::bury(Reservation addresses) {
  addresses.clear();
  const std::uint64_t base = addresses.address();
  burials_.push_back(base);
  graves_.insert_or_assign(base, std::move(addresses));
  if (burials_.size() <= most_graves) return;
  graves_.erase(burials_.front());
  burials_.pop_front();
}

bool AddressBook::buried(std::uint64_t address) const {
  const auto grave = at_or_before(graves_, address);
  return grave != graves_.end() && address - grave->first < grave->second.bytes();
}

void AddressBook::add(std::shared_ptr<Memory> memory) {
  memory->id = next_id++;
  const std::uint64_t base = memory->base;
  memories_.insert_or_assign(base, std::move(memory));
}

std::shared_ptr<Memory> AddressBook::find(std::uint64_t address) const {
  const auto memory = at_or_before(memories_, address);
  if (memory == memories_.end() || address - memory->first >= memory->second->bytes) return nullptr;
  return memory->second;
}

bool AddressBook::overlaps(std::uint64_t base, Bytes bytes) const {
  if (find(base)) return true;
  const auto next = memories_.lower_bound(base);
  return next != memories_.end() && next->first - base < bytes;
}

bool AddressBook::is_reserved(std::uint64_t address, Bytes bytes) const {
  const auto piece = at_or_before(reserved, address);
  if (piece == reserved.end()) return false;
  const std::uint64_t offset = address - piece->first;
  return offset < piece->second.bytes() && bytes <= piece->second.bytes() - offset;
}

int AddressBook::node_of(std::uint64_t address) const {
  const auto piece = at_or_before(pages, address);
  return piece != pages.end() && address - piece->first < piece->second.bytes ? piece->second.node : -1;
}

}  // namespace peerlane::sim

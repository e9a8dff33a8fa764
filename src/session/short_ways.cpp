#include "session/short_ways.hpp"

namespace peerlane::session {

const engine::ShortWay* ShortWays::learn(Place from, Place to, Bytes bytes, const Make& make) {
  std::lock_guard lock(mutex_);
  const std::uint64_t key = key_of(from, to, bytes);
  std::size_t i = slot_of(key);
  for (; const Entry* entry = table_[i].load(std::memory_order_relaxed); i = (i + 1) % slots) {
    if (entry->key == key) return entry->way.get();
  }
  if (entries_.size() >= most_entries) return nullptr;  // the table stays sparse; the long way still works
  const int k = size_class(bytes);
  const Bytes least = k == 0 ? 0 : Bytes{1} << (k - 1);
  const Bytes most = k == 0 ? 0 : (least - 1) + least;
  entries_.push_back(std::make_unique<Entry>(Entry{key, make(least, most)}));
  table_[i].store(entries_.back().get(), std::memory_order_release);
  return entries_.back()->way.get();
}

}  // namespace peerlane::session

#include "sim/bytes.hpp"

#include <algorithm>
#include <cstring>

namespace peerlane::sim {
namespace {

/// All host memory is one writer.
Place party(Place place) {
  return place.kind == PlaceKind::gpu ? place : host();
}

}  // namespace

void Pieces::cut(Bytes offset, Bytes count) {
  const Bytes end = offset + count;
  auto piece = pieces_.upper_bound(offset);
  if (piece != pieces_.begin()) --piece;
  while (piece != pieces_.end() && piece->first < end) {
    const Bytes begin = piece->first;
    const Bytes piece_end = begin + piece->second.size();
    if (piece_end <= offset) {
      ++piece;
      continue;
    }
    std::vector<std::byte> bytes = std::move(piece->second);
    piece = pieces_.erase(piece);
    if (piece_end > end) {
      pieces_.emplace(end, std::vector(bytes.begin() + static_cast<std::ptrdiff_t>(end - begin), bytes.end()));
    }
    if (begin < offset) {
      bytes.resize(offset - begin);
      pieces_.emplace(begin, std::move(bytes));
    }
  }
}

void Pieces::put(Bytes offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  cut(offset, bytes.size());
  pieces_.emplace(offset, std::vector(bytes.begin(), bytes.end()));
}

bool Pieces::lay_over(Bytes offset, std::span<std::byte> into) const {
  bool any = false;
  auto piece = pieces_.upper_bound(offset);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < offset + into.size(); ++piece) {
    const Bytes begin = std::max(offset, piece->first);
    const Bytes end = std::min<Bytes>(offset + into.size(), piece->first + piece->second.size());
    if (begin >= end) continue;
    std::memcpy(into.data() + (begin - offset), piece->second.data() + (begin - piece->first), end - begin);
    any = true;
  }
  return any;
}

void ByteMover::copy(const End& from, const End& to, Bytes bytes, const Effects& effects, int issuer) {
  if (bytes == 0) return;
  if (is_plain(effects)) {
    if (from.memory != to.memory) prepare(to, bytes);
    std::memmove(to.data(), from.data(), bytes);
    return;
  }
  if (effects.stale) {
    std::vector<std::byte> older(from.data(), from.data() + bytes);
    if (!lay_history_over(from, older)) return;  // nothing older is known of the source: the destination keeps its own
    write(to, older, from.place, effects);
    return;
  }
  write(to, read(from, bytes, to.place, effects, issuer), from.place, effects);
}

void ByteMover::fill(const End& to, std::byte value, Bytes bytes, const Effects& effects, int issuer) {
  if (is_plain(effects)) {
    prepare(to, bytes);
    std::memset(to.data(), std::to_integer<int>(value), bytes);
    return;
  }
  write_struck(to, std::vector<std::byte>(bytes, value), gpu(issuer), effects);
}

void ByteMover::write_struck(const End& to, std::vector<std::byte> bytes, Place writer, const Effects& effects) {
  if (effects.stale) return;  // the destination keeps what it had
  if (effects.corrupt) corrupt(bytes);
  write(to, bytes, writer, effects);
}

std::vector<std::byte> ByteMover::read(const End& from, Bytes bytes, Place reader, const Effects& effects, int issuer) {
  std::vector<std::byte> seen(from.data(), from.data() + bytes);
  if (effects.stale) lay_history_over(from, seen);
  lay_mirror_over(from, seen, reader, issuer);
  if (effects.corrupt) corrupt(seen);
  return seen;
}

void ByteMover::write(const End& to, std::span<const std::byte> bytes, Place writer, const Effects& effects) {
  if (effects.drop || bytes.empty()) return;
  if (effects.mirror && to.memory) {
    mirrors_[{party(writer), to.memory->id}].put(to.offset(), bytes);
    return;
  }
  if (effects.mirror) return;
  if (!effects.misdirect) return land(to, bytes);
  if (const auto wrong = elsewhere(to, bytes.size())) land(*wrong, bytes);
}

void ByteMover::prepare(const End& to, Bytes bytes) {
  if (Reservation* backing = to.memory ? to.memory->backing() : nullptr) backing->expect_overwrite(to.data(), bytes);
}

void ByteMover::forget(const Memory& memory) {
  history_.erase(memory.id);
  std::erase_if(mirrors_, [&](const auto& entry) { return entry.first.memory == memory.id; });
}

bool ByteMover::lay_history_over(const End& from, std::span<std::byte> into) const {
  if (!from.memory) return false;
  const auto pieces = history_.find(from.memory->id);
  return pieces != history_.end() && pieces->second.lay_over(from.offset(), into);
}

/// The owner's own engine sees its memory as it is; the writer, looking through the link, sees what it wrote.
void ByteMover::lay_mirror_over(const End& from, std::span<std::byte> into, Place reader, int issuer) const {
  if (!from.memory || mirrors_.empty()) return;
  if (reader.kind == PlaceKind::gpu && reader != gpu(issuer)) return;
  const auto pieces = mirrors_.find({party(reader), from.memory->id});
  if (pieces != mirrors_.end()) pieces->second.lay_over(from.offset(), into);
}

void ByteMover::land(const End& to, std::span<const std::byte> bytes) {
  if (to.memory) {
    if (keeps_history_) history_[to.memory->id].put(to.offset(), {to.data(), bytes.size()});
    for (auto& [key, pieces] : mirrors_) {
      if (key.memory == to.memory->id) pieces.cut(to.offset(), bytes.size());
    }
  }
  std::memmove(to.data(), bytes.data(), bytes.size());
}

/// Right behind the true extent or right before it, inside the same allocation.
std::optional<End> ByteMover::elsewhere(const End& to, Bytes bytes) {
  if (!to.memory) return std::nullopt;
  std::vector<Bytes> candidates;
  if (to.memory->bytes - to.offset() - bytes >= bytes) candidates.push_back(to.offset() + bytes);
  if (to.offset() >= bytes) candidates.push_back(to.offset() - bytes);
  if (candidates.empty()) return std::nullopt;
  End wrong = to;
  wrong.address = to.memory->base + candidates[chance_.below(candidates.size())];
  return wrong;
}

void ByteMover::corrupt(std::span<std::byte> bytes) {
  const std::uint64_t flips = 1 + chance_.below(8);
  std::map<Bytes, std::byte> masks;
  for (std::uint64_t i = 0; i < flips; ++i) {
    masks[chance_.below(bytes.size())] = std::byte{1} << static_cast<int>(chance_.below(8));
  }
  for (const auto& [at, mask] : masks) bytes[at] ^= mask;
}

}  // namespace peerlane::sim

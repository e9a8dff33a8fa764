#pragma once
/// The words that stand for a machine's enums in ids and machine files.

#include <array>
#include <optional>
#include <string_view>

#include "peerlane/machine.hpp"

namespace peerlane::machine {

template <class Enum>
struct Word {
  Enum value;
  std::string_view text;
};
template <class Enum>
Word(Enum, std::string_view) -> Word<Enum>;

inline constexpr std::array node_words = {
    Word{NodeKind::gpu, "gpu"},        Word{NodeKind::numa, "numa"},
    Word{NodeKind::socket, "socket"},  Word{NodeKind::pcie_switch, "switch"},
    Word{NodeKind::root_port, "port"}, Word{NodeKind::nvswitch, "nvswitch"},
    Word{NodeKind::nic, "nic"},        Word{NodeKind::drive, "drive"},
    Word{NodeKind::device, "device"},
};

inline constexpr std::array link_words = {
    Word{LinkKind::nvlink, "nvlink"}, Word{LinkKind::pcie, "pcie"},     Word{LinkKind::root, "root"},
    Word{LinkKind::memory, "memory"}, Word{LinkKind::socket, "socket"}, Word{LinkKind::c2c, "c2c"},
    Word{LinkKind::xgmi, "xgmi"},
};

inline constexpr std::array origin_words = {
    Word{Origin::assumed, "assumed"},
    Word{Origin::reported, "reported"},
    Word{Origin::measured, "measured"},
};

/// The classes of a way over PCIe, nearest first.
inline constexpr std::array<std::string_view, 5> nearness_words = {"PIX", "PXB", "PHB", "NODE", "SYS"};

template <class Enum, std::size_t N>
constexpr std::string_view word_of(const std::array<Word<Enum>, N>& words, Enum value) {
  for (const auto& word : words) {
    if (word.value == value) return word.text;
  }
  return "unknown";
}

template <class Enum, std::size_t N>
constexpr std::optional<Enum> value_of(const std::array<Word<Enum>, N>& words, std::string_view text) {
  for (const auto& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

constexpr std::string_view word(NodeKind kind) {
  return word_of(node_words, kind);
}
constexpr std::string_view word(LinkKind kind) {
  return word_of(link_words, kind);
}
constexpr std::string_view word(Origin origin) {
  return word_of(origin_words, origin);
}

}  // namespace peerlane::machine

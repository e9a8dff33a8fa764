#pragma once
/// What `peerlane copy` tells: a row a hop, and what came of the whole.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peerlane/plan.hpp"
#include "peerlane/transfer.hpp"

namespace peerlane::cli {

/// What is known of a chain's copy, so far.
struct Report {
  std::string machine;
  std::optional<bool> simulated;  ///< nothing before a machine is known
  std::vector<Receipt> hops;
  std::optional<std::uint64_t> digest;  ///< of the source
};

/// The lanes, the places between and what carries it: "pinned DMA through host:0, PCIe 4 ×16". The plan knows the last.
std::string how(const Receipt& receipt, const Plan& plan);

/// One line, and a second one where a better road was not taken. The first column is `hop_width` wide.
std::string receipt_row(const Receipt& receipt, const Plan& plan, std::size_t hop_width);

std::string digest_text(std::uint64_t digest);
/// "digest 9f3c51d20a77e1c4, equal at all 4 places"
std::string digest_row(std::uint64_t digest, std::size_t places);

}  // namespace peerlane::cli

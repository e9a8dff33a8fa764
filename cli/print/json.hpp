#pragma once
/// The documents that `--json` prints and no other room owns.

#include <string>

#include "peerlane/result.hpp"
#include "receipt.hpp"

namespace peerlane::cli {

/// Schema `peerlane.receipt/1`. With an error: the hops that were made, and what stopped the rest.
std::string receipt_json(const Report& report, const Error* error = nullptr);

/// Schema `peerlane.error/1`: what a verb prints that has nothing else to print.
std::string error_json(const Error& error);

}  // namespace peerlane::cli

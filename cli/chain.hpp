#pragma once
/// One copy after another: every place of a chain gets the bytes of the place before it, and is checked against the
/// first.

#include <functional>

#include "print/progress.hpp"
#include "print/receipt.hpp"
#include "request.hpp"

namespace peerlane::cli {

/// What a chain tells while it runs.
struct Witness {
  Report& report;
  Progress& progress;
  std::function<Result<void>(const Receipt&, const Plan&)> hop_done;
};

/// Makes sense of the places without touching one: at least two of them, no file twice.
Result<void> check_chain(const Request& request);

/// Every hop in turn. A file stands under its name only when its bytes were read back equal to the source's.
Result<void> carry_chain(const Request& request, Session& session, Witness& witness);

}  // namespace peerlane::cli

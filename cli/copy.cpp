#include <algorithm>

#include "base/try.hpp"
#include "chain.hpp"
#include "print/json.hpp"
#include "open.hpp"
#include "print/output.hpp"
#include "print/tables.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

namespace {

std::size_t hop_column(const std::vector<Stop>& stops) {
  std::size_t widest = 0;
  for (std::size_t i = 1; i < stops.size(); ++i) {
    widest = std::max(widest, width(hop_name(visible(stops[i - 1].name), visible(stops[i].name))));
  }
  return widest;
}

/// Above the first row; a real machine's figures need no word.
std::string headline(const Report& report) {
  const bool needed = report.simulated.value_or(false) && report.hops.size() == 1;
  return needed ? visible(report.machine) + " · simulated\n" : std::string();
}

/// Rows appear as hops end; a document is printed once, later.
Witness witness_of(const Request& request, Report& report, Progress& progress) {
  const auto print_row = [&, column = hop_column(request.stops)](const Receipt& receipt, const Plan& plan) {
    Result<void> written;
    progress.step_aside([&] { written = write_out(headline(report) + receipt_row(receipt, plan, column)); });
    return written;
  };
  const auto stay_silent = [](const Receipt&, const Plan&) { return Result<void>{}; };
  if (request.json) return {report, progress, stay_silent};
  return {report, progress, print_row};
}

Result<void> carry(const Request& request, Report& report) {
  PEERLANE_TRY(check_chain(request));
  Progress progress;
  auto session = PEERLANE_TRY(open_session(request));
  report.machine = session.machine().name;
  report.simulated = session.simulated();
  auto witness = witness_of(request, report, progress);
  return carry_chain(request, session, witness);
}

}  // namespace

Result<void> run_copy(const Request& request) {
  Report report;
  const auto outcome = carry(request, report);
  if (request.json) {
    PEERLANE_TRY(write_out(receipt_json(report, outcome ? nullptr : &outcome.error())));
    return outcome;
  }
  PEERLANE_TRY(Result<void>(outcome));
  return write_out(digest_row(*report.digest, request.stops.size()));
}

}  // namespace peerlane::cli

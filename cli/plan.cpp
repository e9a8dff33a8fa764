#include "base/try.hpp"
#include "open.hpp"
#include "print/output.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

namespace {

Result<Bytes> planned_size(const Request& request, Session& session) {
  const auto& source = request.stops.front();
  if (request.size) return *request.size;
  if (source.is_file()) return PEERLANE_TRY(session.open_source(source.path)).bytes;
  return fail(ErrorKind::invalid_argument, "how many bytes is not said", "--size",
              "the best road depends on it: --size 64MiB");
}

/// The session plans between places; what they were called is known here.
Plan named(Plan plan, const Stop& from, const Stop& to) {
  plan.from_name = from.name;
  plan.to_name = to.name;
  return plan;
}

}  // namespace

Result<void> run_plan(const Request& request) {
  if (request.stops.size() != 2) {
    return fail(ErrorKind::invalid_argument, "a plan is made for two places", "peerlane plan",
                "as in `peerlane plan gpu:0 gpu:1 --size 1GiB`");
  }
  auto session = PEERLANE_TRY(open_session(request));
  const auto& [from, to] = std::pair(request.stops[0], request.stops[1]);
  const Bytes bytes = PEERLANE_TRY(planned_size(request, session));
  const auto plan = named(PEERLANE_TRY(session.plan(from.place, to.place, bytes)), from, to);
  if (request.options.strict && !plan.direct) {
    return fail(ErrorKind::unavailable, plan.fallback, hop_name(from.name, to.name),
                "without --strict the fallback is taken");
  }
  return write_document(request.json ? to_json(plan) : to_text(plan));
}

}  // namespace peerlane::cli

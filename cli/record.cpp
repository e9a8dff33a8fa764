#include "base/try.hpp"
#include "print/output.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

Result<void> run_record(const Request& request) {
  const auto session = PEERLANE_TRY(Session::open(request.options));
  return write_document(to_json(session.machine()));
}

}  // namespace peerlane::cli

#include "base/try.hpp"
#include "open.hpp"
#include "print/output.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

Result<void> run_record(const Request& request) {
  const auto session = PEERLANE_TRY(open_session(request));
  const Machine& machine = session.machine();
  return write_document(request.form == RecordForm::nccl ? to_nccl_xml(machine) : to_json(machine));
}

}  // namespace peerlane::cli

#pragma once
/// One function a verb. It prints its answer on stdout; what goes wrong it returns.

#include "request.hpp"

namespace peerlane::cli {

Result<void> run_map(const Request& request);
Result<void> run_plan(const Request& request);
Result<void> run_copy(const Request& request);
Result<void> run_record(const Request& request);
Result<void> run_sim(const Request& request);

}  // namespace peerlane::cli

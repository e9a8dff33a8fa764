#include "open.hpp"

#include "base/try.hpp"

namespace peerlane::cli {

Result<Session> open_session(const Request& request) {
  if (request.machines.empty()) return Session::open(request.options);
  return Session::open(PEERLANE_TRY(load_machine(request.machines)), request.options);
}

}  // namespace peerlane::cli

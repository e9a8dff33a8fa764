#pragma once
/// The session that a request is about.

#include "request.hpp"

namespace peerlane::cli {

/// This machine, or the simulated one that --machine describes.
Result<Session> open_session(const Request& request);

}  // namespace peerlane::cli

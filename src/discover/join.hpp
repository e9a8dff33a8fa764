#pragma once

#include "discover/facts.hpp"

namespace peerlane::discover {

/// Facts in, machine out: no probe, no device, no clock.
Machine join_facts(const Facts& facts);

}  // namespace peerlane::discover

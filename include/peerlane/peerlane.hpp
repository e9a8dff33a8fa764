#pragma once
/// All of Peerlane.

#include "peerlane/machine.hpp"
#include "peerlane/place.hpp"
#include "peerlane/plan.hpp"
#include "peerlane/region.hpp"
#include "peerlane/result.hpp"
#include "peerlane/session.hpp"
#include "peerlane/transfer.hpp"
#include "peerlane/units.hpp"

#pragma once
/// Host memory on a NUMA node, for the real driver's table.

#include "peerlane/units.hpp"

namespace peerlane::vendor {

void* host_pages(Bytes bytes, int node);
void free_host_pages(void* pages, Bytes bytes);

}  // namespace peerlane::vendor

#include "kernels/kernels.hpp"

#ifdef PEERLANE_HAVE_FATBIN
// Defined by the file that cmake/Fatbin.cmake generates.
extern "C" const unsigned char peerlane_fatbin_begin[];
extern "C" const unsigned char peerlane_fatbin_end[];
#endif

namespace peerlane::kernels {

std::span<const unsigned char> image() {
#ifdef PEERLANE_HAVE_FATBIN
  return {peerlane_fatbin_begin, peerlane_fatbin_end};
#else
  return {};
#endif
}

}  // namespace peerlane::kernels

#pragma once
/// Runs our helper program: bounded in time and in output, killed when it hangs, never a zombie.

#include <string>
#include <vector>

#include "peerlane/result.hpp"
#include "peerlane/units.hpp"

namespace peerlane::discover {

inline constexpr Bytes most_helper_output = 4_MiB;

/// What the program printed on stdout, if it ended well: `timeout` when it was killed at its deadline, `not_found` when
/// it cannot be started, `unavailable` when it crashed, failed or printed too much.
Result<std::string> run_helper(const std::string& path, const std::vector<std::string>& arguments, double seconds);

/// `wanted`, or beside this program, or where it was installed.
Result<std::string> find_helper(const std::string& wanted);

}  // namespace peerlane::discover

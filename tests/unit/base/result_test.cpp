#include "peerlane/result.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/try.hpp"

namespace peerlane {
namespace {

constexpr ErrorKind all_kinds[] = {
    ErrorKind::invalid_argument, ErrorKind::not_found, ErrorKind::unavailable,
    ErrorKind::no_memory,        ErrorKind::io,        ErrorKind::data_mismatch,
    ErrorKind::timeout,          ErrorKind::cancelled, ErrorKind::device_lost,
    ErrorKind::driver,
};

TEST(ErrorKind, EachHasItsOwnWords) {
  std::set<std::string_view> words;
  for (const ErrorKind kind : all_kinds) words.insert(to_string(kind));
  EXPECT_EQ(words.size(), std::size(all_kinds));
  EXPECT_FALSE(words.contains("unknown error"));
}

TEST(ErrorKind, NoneExitsWithSuccessAndTheNamedOnesWithTheirCode) {
  for (const ErrorKind kind : all_kinds) EXPECT_NE(exit_code(kind), 0) << to_string(kind);
  EXPECT_EQ(exit_code(ErrorKind::io), 1);
  EXPECT_EQ(exit_code(ErrorKind::not_found), 1);
  EXPECT_EQ(exit_code(ErrorKind::invalid_argument), 2);
  EXPECT_EQ(exit_code(ErrorKind::data_mismatch), 3);
  EXPECT_EQ(exit_code(ErrorKind::timeout), 5);
  EXPECT_EQ(exit_code(ErrorKind::device_lost), 6);
  EXPECT_EQ(exit_code(ErrorKind::unavailable), 7);
}

TEST(Error, MessageSaysWhereWhatAndTheHint) {
  EXPECT_EQ((Error{ErrorKind::io, "disk full", "out.bin", "free some space", 28}).message(),
            "out.bin: disk full (free some space)");
  EXPECT_EQ((Error{ErrorKind::io, "disk full", "", "", 0}).message(), "disk full");
  EXPECT_EQ((Error{ErrorKind::timeout, "", "gpu:0", "", 0}).message(), "gpu:0: timeout");
}

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorKind::invalid_argument, "odd");
  return n / 2;
}

Result<int> quarter(int n) {
  return PEERLANE_TRY(half(PEERLANE_TRY(half(n))));
}

TEST(Try, PassesValuesOnAndErrorsUp) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().what, "odd");
  EXPECT_EQ(quarter(5).error().what, "odd");
}

}  // namespace
}  // namespace peerlane

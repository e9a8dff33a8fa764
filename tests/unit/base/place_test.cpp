#include "peerlane/place.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace peerlane {
namespace {

using testing::HasSubstr;

TEST(ParsePlace, ReadsEveryForm) {
  EXPECT_EQ(parse_place("gpu:0")->place, gpu(0));
  EXPECT_EQ(parse_place("gpu:15")->place, gpu(15));
  EXPECT_EQ(parse_place("host")->place, host());
  EXPECT_EQ(parse_place("host:1")->place, host(1));
  EXPECT_EQ(parse_place("mem")->place, mem());
  EXPECT_EQ(parse_place("file:in.bin")->place, file());
  EXPECT_EQ(parse_place("file:in.bin")->path, "in.bin");
  EXPECT_EQ(parse_place("file:/a dir/b:c")->path, "/a dir/b:c");
}

TEST(ParsePlace, RefusesEverythingElseAndListsTheForms) {
  const std::string_view bad[] = {"",       "gpu",     "gpu:",   "gpu:-1",  "gpu:+1", "gpu:01",
                                  "gpu:1x", "gpu: 1",  "GPU:0",  "gpu0",    "host:",  "host:-1",
                                  "mem:0",  "file",    "file:",  "gpu:0:1", "disk",   "gpu:99999999999999999999",
                                  " gpu:0", "gpu:0\n", "host:0 "};
  for (const std::string_view text : bad) {
    const auto place = parse_place(text);
    ASSERT_FALSE(place) << text;
    EXPECT_EQ(place.error().kind, ErrorKind::invalid_argument);
    EXPECT_THAT(place.error().message(), HasSubstr("gpu:N, host, host:N, mem or file:PATH"));
  }
}

TEST(ParsePlace, RefusesAPathThatNoFileCanHave) {
  EXPECT_FALSE(parse_place(std::string_view("file:a\0b", 8)));
}

RC_GTEST_PROP(ParsePlace, ReadsBackWhatIsPrinted, ()) {
  const int index = *rc::gen::inRange(0, 100000);
  const Place place = *rc::gen::element(gpu(index), host(index), host(), mem());
  RC_ASSERT(parse_place(to_string(place)).value().place == place);
}

RC_GTEST_PROP(ParsePlace, WhatItAcceptsPrintsAsItWasTyped, (const std::string& text)) {
  const auto named = parse_place(text);
  if (!named) return;
  const std::string tail = named->place == file() ? ":" + named->path : "";
  RC_ASSERT(to_string(named->place) + tail == text);
}

}  // namespace
}  // namespace peerlane

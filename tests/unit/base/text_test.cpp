#include "base/text.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace peerlane {
namespace {

using testing::HasSubstr;

constexpr Bytes most = std::numeric_limits<Bytes>::max();

TEST(FormatBytes, IsExactWhereThatIsShort) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1), "1 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1_KiB), "1 KiB");
  EXPECT_EQ(format_bytes(4097), "4097 B");
  EXPECT_EQ(format_bytes(1_MiB + 512_KiB), "1.5 MiB");
  EXPECT_EQ(format_bytes(1280_KiB), "1280 KiB");
  EXPECT_EQ(format_bytes(1_GiB), "1 GiB");
}

TEST(FormatBytes, RoundsToOneDecimalElse) {
  EXPECT_EQ(format_bytes(2_GiB + 1), "2.0 GiB");
  EXPECT_EQ(format_bytes(1_MiB - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(1_GiB - 1), "1.0 GiB");
  EXPECT_EQ(format_bytes(12'345'678), "11.8 MiB");
  EXPECT_EQ(format_bytes(most), "16.0 EiB");
}

TEST(FormatRate, HasThreeDigits) {
  EXPECT_EQ(format_rate(396.3e9), "396 GB/s");
  EXPECT_EQ(format_rate(37.6e9), "37.6 GB/s");
  EXPECT_EQ(format_rate(1.2e6), "1.2 MB/s");
  EXPECT_EQ(format_rate(999.6e9), "1 TB/s");
  EXPECT_EQ(format_rate(4.8e15), "4800 TB/s");
  EXPECT_EQ(format_rate(0), "0 B/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(FormatSeconds, HasThreeDigits) {
  EXPECT_EQ(format_seconds(2.71e-3), "2.71 ms");
  EXPECT_EQ(format_seconds(1.86e-6), "1.86 µs");
  EXPECT_EQ(format_seconds(12.34), "12.3 s");
  EXPECT_EQ(format_seconds(999.9e-9), "1 µs");
  EXPECT_EQ(format_seconds(5e-9), "5 ns");
  EXPECT_EQ(format_seconds(4520), "4520 s");
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(ParseBytes, ReadsEveryUnit) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("64MiB"), 64_MiB);
  EXPECT_EQ(parse_bytes("1GB"), 1_GB);
  EXPECT_EQ(parse_bytes("1.5GiB"), 1_GiB + 512_MiB);
  EXPECT_EQ(parse_bytes("7 KiB"), 7_KiB);
  EXPECT_EQ(parse_bytes("64mib"), 64_MiB);
  EXPECT_EQ(parse_bytes("0.001KB"), 1u);
  EXPECT_EQ(parse_bytes("12B"), 12u);
  EXPECT_EQ(parse_bytes("18446744073709551615"), most);
  EXPECT_EQ(parse_bytes("16383 PiB"), Bytes{16383} << 50);
  EXPECT_EQ(parse_bytes("1.000000000000000000000 B"), 1u);
}

TEST(ParseBytes, RefusesWhatMakesNoSenseAndSaysWhy) {
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"", "empty"},
      {"-1", "negative"},
      {"GiB", "digit"},
      {"1.", "no digit follows"},
      {".5GiB", "digit"},
      {"1.5", "whole number of bytes"},
      {"0.3KiB", "whole number of bytes"},
      {"5 parsecs", "unknown unit \"parsecs\""},
      {"5K", "unknown unit \"K\""},
      {"1  KiB", "unknown unit"},
      {"1e9", "unknown unit"},
      {"0x10", "unknown unit"},
      {"18446744073709551616", "64 bits"},
      {"99999999999999999999999999", "64 bits"},
      {"16EiB", "64 bits"},
      {"16777216 TiB", "64 bits"},
      {"1.0000000000000000001GiB", "18 digits"},
  };
  for (const auto& [text, why] : bad) {
    const auto bytes = parse_bytes(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_THAT(bytes.error().message(), HasSubstr(std::string(why)));
    EXPECT_THAT(bytes.error().message(), HasSubstr(quote(text)));
    EXPECT_THAT(bytes.error().message(), HasSubstr("64MiB"));
  }
}

RC_GTEST_PROP(ParseBytes, ReadsBackWhatIsPrintedWithinARounding, (Bytes bytes)) {
  const std::string text = format_bytes(bytes);
  const auto back = parse_bytes(text);
  if (!back) {
    // A rounded figure need not be a whole number of bytes, and near 2^64 it rounds past the end.
    RC_ASSERT(text.find('.') != std::string::npos);
    return;
  }
  RC_ASSERT(*back / 20 * 19 <= bytes && bytes / 20 * 19 <= *back);
}

RC_GTEST_PROP(ParseBytes, ReadsPlainNumbersExactly, (Bytes bytes)) {
  RC_ASSERT(parse_bytes(std::to_string(bytes)) == bytes);
}

RC_GTEST_PROP(Parse, NeverFallsOverAnyText, (const std::string& text)) {
  for (const auto& message :
       {parse_bytes(text).map_error(&Error::message), parse_bytes("1" + text).map_error(&Error::message)}) {
    if (!message) RC_ASSERT(!message.error().empty());
  }
  const auto seconds = parse_seconds(text);
  if (seconds) RC_ASSERT(*seconds >= 0);
}

TEST(ParseSeconds, ReadsEveryUnit) {
  EXPECT_DOUBLE_EQ(*parse_seconds("2s"), 2);
  EXPECT_DOUBLE_EQ(*parse_seconds("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(*parse_seconds("100us"), 100e-6);
  EXPECT_DOUBLE_EQ(*parse_seconds("100µs"), 100e-6);
  EXPECT_DOUBLE_EQ(*parse_seconds("7ns"), 7e-9);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(*parse_seconds("2m"), 120);
  EXPECT_DOUBLE_EQ(*parse_seconds("1 h"), 3600);
}

TEST(ParseSeconds, RefusesWhatMakesNoSense) {
  for (const std::string_view text : {"", "2", "-1s", "s", "2 weeks", "1e5s", "9999999999s", "2S"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
  EXPECT_FALSE(parse_seconds(std::string(400, '9') + "s"));
  EXPECT_THAT(parse_seconds("2").error().message(), HasSubstr("unit is missing"));
}

TEST(Quote, ShowsWhatAPersonCanRead) {
  EXPECT_EQ(quote("gpu:0"), "\"gpu:0\"");
  EXPECT_EQ(quote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quote("a\n\x1b[31m"), R"("a\x0a\x1b[31m")");
  EXPECT_EQ(quote("µ → é"), "\"µ → é\"");
  EXPECT_EQ(quote("\xff\xc0\x80"), R"("\xff\xc0\x80")");
  EXPECT_EQ(quote("\xe2\x82"), R"("\xe2\x82")");
  EXPECT_EQ(quote("\xed\xa0\x80"), R"("\xed\xa0\x80")");
  EXPECT_EQ(quote(std::string_view("\0", 1)), R"("\x00")");
  EXPECT_THAT(quote(std::string(1000, 'x')), HasSubstr("… (1000 bytes)"));
}

TEST(Join, ReadsAsASentence) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b"}), "a and b");
  EXPECT_EQ(join({"a", "b", "c"}, " or "), "a, b or c");
}

}  // namespace
}  // namespace peerlane

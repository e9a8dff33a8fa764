#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "discover/helper_process.hpp"
#include "discover/probes.hpp"
#include "vendor/nvml.hpp"

namespace peerlane::discover {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The probe over a stub library, read back.
NvmlFacts through_the_probe(const std::string& library) {
  const auto text = run_helper(PEERLANE_PROBE, {"nvml", "--library", PEERLANE_STUBS "/" + library + ".so"}, 20);
  if (text) return parse_nvml(*text);
  ADD_FAILURE() << text.error().message();
  return {};
}

TEST(NvmlFacts, OfTwoH200AreAllThere) {
  const NvmlFacts facts = through_the_probe("nvml_works");
  EXPECT_TRUE(facts.available);
  EXPECT_EQ(facts.driver, "580.159.04");
  EXPECT_THAT(facts.notes, IsEmpty());
  ASSERT_EQ(facts.gpus.size(), 2u);
  const NvmlGpuFacts& second = facts.gpus[1];
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.pci, "0000:1c:00.0");
  EXPECT_EQ(second.uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(second.pcie.generation, 5);
  EXPECT_EQ(second.pcie.generation_now, 1);
  EXPECT_EQ(second.pcie.width, 16);
  EXPECT_EQ(second.fabric_state, nvml::fabric_completed);
  EXPECT_FALSE(second.mig);
  ASSERT_EQ(second.links.size(), 18u);
  EXPECT_TRUE(second.links[0].active);
  EXPECT_FALSE(second.links[17].active);
  EXPECT_EQ(second.links[0].generation, 4);
  EXPECT_EQ(second.links[0].raw_bytes_per_s, 26562e6);
  EXPECT_EQ(second.links[0].far_end, FarEnd::nvswitch);
  ASSERT_EQ(facts.pairs.size(), 2u);
  EXPECT_EQ(facts.pairs[0].read, nvml::p2p_ok);
  EXPECT_EQ(facts.pairs[0].pci, nvml::p2p_chipset);
  EXPECT_EQ(facts.pairs[0].ancestor, nvml::topology_node);
}

TEST(NvmlFacts, OfALibraryThatKnowsNothingAreEmptyAndQuiet) {
  for (const char* library : {"nvml_knows_nothing", "nvml_bare"}) {
    const NvmlFacts facts = through_the_probe(library);
    EXPECT_TRUE(facts.available);
    EXPECT_EQ(facts.gpus.size(), 2u);
    EXPECT_THAT(facts.notes, IsEmpty());
    EXPECT_THAT(facts.gpus[0].links, IsEmpty());
    EXPECT_EQ(facts.pairs[0].read, std::nullopt);
  }
}

TEST(NvmlFacts, OfALibraryThatFailsEverywhereAreFewNotes) {
  const NvmlFacts facts = through_the_probe("nvml_fails_everywhere");
  EXPECT_TRUE(facts.available);
  EXPECT_THAT(facts.notes, Contains(HasSubstr("NVML_ERROR_UNKNOWN (999)")));
  EXPECT_LT(facts.notes.size(), 20u);
}

TEST(NvmlFacts, OfALibraryThatLiesAreBoundedAndReadable) {
  const NvmlFacts facts = through_the_probe("nvml_lies");
  EXPECT_TRUE(facts.available);
  EXPECT_LE(facts.gpus.size(), 2u);
}

TEST(NvmlFacts, SayWhyTheLibraryWasRefused) {
  EXPECT_THAT(through_the_probe("nvml_no_driver").notes, ElementsAre(HasSubstr("DRIVER_NOT_LOADED")));
  EXPECT_THAT(through_the_probe("nvml_mismatch").notes, ElementsAre(HasSubstr("MISMATCH")));
  EXPECT_THAT(through_the_probe("nvml_without_count").notes, ElementsAre(HasSubstr("nvmlDeviceGetCount_v2")));
  EXPECT_THAT(through_the_probe("absent").notes, ElementsAre(HasSubstr("cannot be loaded")));
}

TEST(NvmlFacts, OfACrashAreASentence) {
  const auto text = run_helper(PEERLANE_PROBE, {"nvml", "--library", PEERLANE_STUBS "/nvml_crashes.so"}, 20);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().what, HasSubstr("SIGABRT"));
}

TEST(ParseNvml, EveryLinkVersionHasItsGeneration) {
  // NVML's enum → generation; 2.2 and 3.1 have numbers of their own.
  const int generations[] = {0, 1, 2, 2, 3, 3, 4, 5, 6, 0, 0};
  for (int version = 0; version < 11; ++version) {
    const nlohmann::json link = {{"link", 0}, {"active", true}, {"version", version}};
    const nlohmann::json report = {
        {"schema", "peerlane.nvml/1"}, {"available", true}, {"gpus", {{{"index", 0}, {"links", {link}}}}}};
    EXPECT_EQ(parse_nvml(report.dump()).gpus.at(0).links.at(0).generation, generations[version]);
  }
}

/// Cut anywhere, or with any value replaced by one of another type: never a crash, always facts or a note.
TEST(ParseNvml, ADamagedDocumentIsFactsOrANote) {
  const auto text = run_helper(PEERLANE_PROBE, {"nvml", "--library", PEERLANE_STUBS "/nvml_works.so"}, 20);
  ASSERT_TRUE(text);
  for (std::size_t length = 0; length + 2 < text->size(); length += 7) {
    const NvmlFacts facts = parse_nvml(text->substr(0, length));
    EXPECT_FALSE(facts.available);
    EXPECT_EQ(facts.notes.size(), 1u);
  }
  const nlohmann::json whole = nlohmann::json::parse(*text);
  const nlohmann::json flat = whole.flatten();
  for (const nlohmann::json& wrong :
       std::vector<nlohmann::json>{nullptr, -1, 1e300, "word", true, 18446744073709551615u}) {
    for (auto item = flat.begin(); item != flat.end(); ++item) {
      nlohmann::json damaged = flat;
      damaged[item.key()] = wrong;
      const NvmlFacts facts = parse_nvml(damaged.unflatten().dump());
      EXPECT_TRUE(facts.available || !facts.notes.empty());
    }
  }
}

RC_GTEST_PROP(ParseNvml, AnyTextIsFactsOrANote, (const std::string& text)) {
  const NvmlFacts facts = parse_nvml(text);
  RC_ASSERT(!facts.available);
  RC_ASSERT(facts.notes.size() == 1u);
}

}  // namespace
}  // namespace peerlane::discover

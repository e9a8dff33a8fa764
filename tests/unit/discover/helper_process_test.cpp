#include "discover/helper_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>

#include "discover/probes.hpp"

namespace peerlane::discover {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string stub(const std::string& name) {
  return std::string(PEERLANE_STUBS "/") + name;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int open_descriptors() {
  int open = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++open;
  closedir(folder);
  return open;
}

/// Leaves neither a zombie nor a descriptor behind, whatever the helper did.
class HelperProcess : public testing::Test {
 protected:
  void SetUp() override { open_before_ = open_descriptors(); }
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_descriptors(), open_before_);
  }

 private:
  int open_before_ = 0;
};

TEST_F(HelperProcess, GivesBackWhatItPrinted) {
  const auto text = run_helper(PEERLANE_PROBE, {"nvml", "--library", stub("nvml_works.so")}, 10);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("peerlane.nvml/1"));
}

TEST_F(HelperProcess, IsKilledAtItsDeadline) {
  for (const char* name : {"helper_hangs", "helper_hangs_after_its_words"}) {
    const double took = seconds_of([&] {
      const auto text = run_helper(stub(name), {}, 0.2);
      ASSERT_FALSE(text);
      EXPECT_EQ(text.error().kind, ErrorKind::timeout);
      EXPECT_THAT(text.error().what, HasSubstr("200 ms and was killed"));
    });
    EXPECT_GE(took, 0.2);
    EXPECT_LT(took, 2);
  }
}

TEST_F(HelperProcess, AHangingNvmlIsKilledWithIt) {
  const auto text = run_helper(PEERLANE_PROBE, {"nvml", "--library", stub("nvml_hangs.so")}, 0.3);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::timeout);
}

TEST_F(HelperProcess, DeadlinesThatMakeNoSenseAreNoTimeAtAll) {
  for (double seconds : {0.0, -1.0, std::nan(""), -std::numeric_limits<double>::infinity()}) {
    const auto text = run_helper(stub("helper_hangs"), {}, seconds);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().kind, ErrorKind::timeout);
  }
}

TEST_F(HelperProcess, OutputIsBounded) {
  const auto text = run_helper(stub("helper_floods"), {}, 10);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().what, HasSubstr("more than 4 MiB"));
}

TEST_F(HelperProcess, ACrashNamesItsSignalAndAFailureItsStatus) {
  const auto crashed = run_helper(stub("helper_crashes"), {}, 10);
  ASSERT_FALSE(crashed);
  EXPECT_THAT(crashed.error().what, HasSubstr("SIGABRT"));
  const auto failed = run_helper(stub("helper_fails"), {}, 10);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().what, HasSubstr("status 3"));
}

TEST_F(HelperProcess, ThatCannotBeStartedIsNotFound) {
  for (const char* path : {"/nowhere/peerlane-probe", "/etc/hostname", "/"}) {
    const auto text = run_helper(path, {}, 10);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().kind, ErrorKind::not_found);
    EXPECT_EQ(text.error().where, path);
  }
}

TEST_F(HelperProcess, InheritsNothingButItsThreeStreams) {
  const int ours = open("/dev/null", O_RDONLY);  // without close-on-exec
  const auto held = run_helper(stub("helper_tells_what_it_holds"), {}, 10);
  close(ours);
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_EQ(*held, "3\n");
}

TEST_F(HelperProcess, AGrandchildThatKeepsThePipeOpenHoldsNobodyUp) {
  const double took = seconds_of([] {
    const auto text = run_helper(stub("helper_leaves_a_child"), {}, 10);
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, "{}\n");
  });
  EXPECT_LT(took, 5);
}

TEST_F(HelperProcess, WorksWhereChildrenAreReapedByTheKernel) {
  struct sigaction ignored {
  }, before{};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignored, &before);
  const auto text = run_helper(stub("helper_garbage"), {}, 10);
  sigaction(SIGCHLD, &before, nullptr);
  ASSERT_TRUE(text) << text.error().message();
}

TEST(FindHelper, TakesTheOneThatIsNamedOrRefusesIt) {
  EXPECT_EQ(find_helper(PEERLANE_PROBE).value(), PEERLANE_PROBE);
  const auto missing = find_helper("/nowhere/peerlane-probe");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_EQ(missing.error().where, "/nowhere/peerlane-probe");
}

TEST(FindHelper, LooksBesideThisProgram) {
  const auto found = find_helper("");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(*found, testing::EndsWith("/peerlane-probe"));
}

/// However the helper fails, NVML's facts are absent and one note says why.
TEST_F(HelperProcess, EveryFailureIsANoteOfNvmlsFacts) {
  struct Expected {
    std::string helper;
    const char* words;
  };
  for (const Expected& expected : std::vector<Expected>{{"/nowhere/at/all", "no program that can be run"},
                                                        {stub("helper_hangs"), "was killed"},
                                                        {stub("helper_garbage"), "no document of schema"},
                                                        {stub("helper_silent"), "no document of schema"},
                                                        {stub("helper_floods"), "more than 4 MiB"},
                                                        {stub("helper_crashes"), "SIGABRT"},
                                                        {stub("helper_fails"), "status 3"}}) {
    const NvmlFacts facts = nvml_facts({.helper = expected.helper, .helper_seconds = 0.5});
    EXPECT_FALSE(facts.available);
    EXPECT_EQ(facts.notes.size(), 1u);
    EXPECT_THAT(facts.notes, Contains(HasSubstr(expected.words)));
  }
}

}  // namespace
}  // namespace peerlane::discover

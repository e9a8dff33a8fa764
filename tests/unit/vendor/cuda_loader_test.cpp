#include "vendor/cuda_loader.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace peerlane::vendor {
namespace {

using testing::HasSubstr;

std::string stub(const std::string& name) {
  return std::string(PEERLANE_STUBS "/") + name + ".so";
}

/// The error that this library must give: always `unavailable`, always with a sentence and a hint.
Error refusal(const std::string& path) {
  const auto driver = open_cuda(path);
  if (driver) {
    ADD_FAILURE() << path << " was taken";
    return {};
  }
  EXPECT_EQ(driver.error().kind, ErrorKind::unavailable) << driver.error().message();
  EXPECT_THAT(driver.error().what, HasSubstr(" "));
  EXPECT_THAT(driver.error().hint, HasSubstr(" "));
  return driver.error();
}

TEST(CudaLoader, FillsEveryCallOfTheTable) {
  for (const char* name : {"cuda_works", "cuda_works_v1"}) {
    const auto driver = open_cuda(stub(name));
    ASSERT_TRUE(driver) << driver.error().message();
#define PEERLANE_IS_FILLED(call, version, parameters) EXPECT_NE(driver->call, nullptr) << #call;
    PEERLANE_CUDA_CALLS(PEERLANE_IS_FILLED)
#undef PEERLANE_IS_FILLED
    EXPECT_NE(driver->host_pages, nullptr);
    EXPECT_NE(driver->free_host_pages, nullptr);
    EXPECT_EQ(driver->version, 13000);
    EXPECT_FALSE(driver->simulated);
    EXPECT_TRUE(std::filesystem::equivalent(driver->loaded_from, stub(name)));
  }
}

TEST(CudaLoader, SaysThatTheLibraryIsAbsent) {
  EXPECT_THAT(refusal("libcuda-that-nobody-has.so.1").what, HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal("libcuda-that-nobody-has.so.1").message(), HasSubstr("libcuda-that-nobody-has.so.1"));
}

TEST(CudaLoader, SaysThatTheFileIsNoLibrary) {
  const auto path = std::filesystem::temp_directory_path() / ("peerlane-no-library-" + std::to_string(getpid()));
  std::ofstream(path) << "not ELF at all";
  EXPECT_THAT(refusal(path.string()).message(), HasSubstr(path.string()));
  std::filesystem::remove(path);
}

TEST(CudaLoader, SaysThatTheLibraryIsNoDriver) {
  EXPECT_THAT(refusal(stub("cuda_empty")).what, HasSubstr("cuDriverGetVersion"));
  EXPECT_THAT(refusal(stub("cuda_without_lookup")).what, HasSubstr("cuGetProcAddress"));
}

TEST(CudaLoader, NamesTheCallThatIsMissing) {
  EXPECT_THAT(refusal(stub("cuda_lacks_a_call")).what, HasSubstr("cuMemcpyPeerAsync"));
}

TEST(CudaLoader, NamesBothVersionsOfADriverThatIsTooOld) {
  const Error error = refusal(stub("cuda_too_old"));
  EXPECT_THAT(error.what, HasSubstr("11.2"));
  EXPECT_THAT(error.what, HasSubstr("11.7"));
}

TEST(CudaLoader, KnowsTheToolkitsStubBeforeItAsksForItsVersion) {
  const Error error = refusal(stub("cuda_toolkit_stub"));
  EXPECT_EQ(error.code, 34);
  EXPECT_THAT(error.hint, HasSubstr("stubs"));
}

TEST(CudaLoader, EveryFailureOfInitHasItsOwnSentenceAndHint) {
  struct Expected {
    int status;
    const char* what;
    const char* hint;
  };
  for (const Expected& expected : std::vector<Expected>{{1, "cuInit answers", "nvidia-smi"},
                                                        {2, "memory", "memory"},
                                                        {34, "stub", "LD_LIBRARY_PATH"},
                                                        {46, "exclusive", "nvidia-smi -c 0"},
                                                        {100, "finds no GPU", "CUDA_VISIBLE_DEVICES"},
                                                        {101, "refuses a GPU", "CUDA_VISIBLE_DEVICES"},
                                                        {802, "NVSwitch fabric", "nvidia-fabricmanager"},
                                                        {803, "different versions", "reload"},
                                                        {804, "forward-compatible", "cuda-compat"},
                                                        {999, "does not know why", "nvidia-uvm"}}) {
    const Error error = refusal(stub("cuda_init_" + std::to_string(expected.status)));
    EXPECT_EQ(error.code, expected.status);
    EXPECT_THAT(error.what, HasSubstr(expected.what));
    EXPECT_THAT(error.what, HasSubstr("(" + std::to_string(expected.status) + ")"));
    EXPECT_THAT(error.hint, HasSubstr(expected.hint));
  }
}

TEST(CudaLoader, GivesOneDriverToAllThreads) {
  std::vector<Result<const CudaDriver*>> answers(8, fail(ErrorKind::driver, "not asked"));
  std::vector<std::thread> threads;
  for (auto& answer : answers) threads.emplace_back([&answer] { answer = load_cuda(); });
  for (auto& thread : threads) thread.join();
  for (const auto& answer : answers) {
    ASSERT_EQ(answer.has_value(), answers[0].has_value());
    if (answer) {
      EXPECT_EQ(*answer, *answers[0]);
    } else {
      EXPECT_EQ(answer.error().kind, ErrorKind::unavailable);
    }
  }
}

TEST(CudaVersion, IsWrittenAsPeopleSayIt) {
  EXPECT_EQ(cuda_version_text(11070), "11.7");
  EXPECT_EQ(cuda_version_text(12080), "12.8");
  EXPECT_EQ(cuda_version_text(13000), "13.0");
}

}  // namespace
}  // namespace peerlane::vendor

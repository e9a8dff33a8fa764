#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "peerlane/machine.hpp"

namespace peerlane {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class LoadMachine : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("peerlane-load-" + std::to_string(::getpid()));
};

TEST_F(LoadMachine, TakesEveryPreset) {
  for (const std::string_view name : preset_names()) EXPECT_EQ(load_machine(std::string(name))->name, name);
}

TEST_F(LoadMachine, TakesAFileAndRemembersIt) {
  const std::string path = write("box.json", to_json(preset("dgx-2").value()));
  const Machine machine = load_machine(path).value();
  EXPECT_EQ(machine.gpu_count(), 16);
  EXPECT_EQ(machine.source, path);
  EXPECT_FALSE(machine.live);
}

TEST_F(LoadMachine, AnswersAnUnknownNameWithThePresetsAndTheOtherForm) {
  const Error error = load_machine("dgx-h101").error();
  EXPECT_EQ(error.kind, ErrorKind::invalid_argument);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("\"dgx-h101\""), HasSubstr("dgx-h100"), HasSubstr("laptop-1gpu"),
                                     HasSubstr("or give the path of a machine file")));
}

TEST_F(LoadMachine, AnswersAMissingFileAsNotFound) {
  EXPECT_EQ(load_machine(folder_ / "none.json").error().kind, ErrorKind::not_found);
  EXPECT_EQ(load_machine("").error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(load_machine(std::string("dgx-2\0", 6)).error().kind, ErrorKind::invalid_argument);
}

TEST_F(LoadMachine, SaysWhyAFolderCannotBeRead) {
  const Error error = load_machine(folder_).error();
  EXPECT_EQ(error.kind, ErrorKind::io);
  EXPECT_EQ(error.code, EISDIR);
  EXPECT_THAT(error.message(), HasSubstr(folder_.string()));
}

TEST_F(LoadMachine, NamesTheFileInWhatIsWrongWithIt) {
  const std::string path = write("cut.json", "{\"schema\": \"peerlane.machine/1\",\n");
  EXPECT_THAT(load_machine(path).error().message(), HasSubstr(path + ": line 2, column 1: "));
}

TEST_F(LoadMachine, ReadsNoMoreThan64MiB) {
  const std::string path = write("big.json", "{");
  fs::resize_file(path, 64_MiB + 1);
  EXPECT_THAT(load_machine(path).error().message(), HasSubstr("64 MiB"));
}

}  // namespace
}  // namespace peerlane

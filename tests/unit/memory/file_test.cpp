#include "memory/file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "unit/memory/folder.hpp"

namespace peerlane {
namespace {

using test::AlignedBytes;
using test::Folder;
using test::random_text;
using test::read_text;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Around nothing, a byte, a page, a 64 KiB page and several of them.
const std::vector<Bytes> sizes = {0, 1, 7, 4095, 4096, 4097, 8192, 65535, 65536, 65537, 200'001};
const std::vector<Bytes> skews = {0, 1, 512, 4096};

std::unique_ptr<File> source(const std::string& path) {
  auto file = File::open_source(path);
  if (!file) throw std::runtime_error(file.error().message());
  return *std::move(file);
}

std::unique_ptr<File> target(const std::string& path, Bytes bytes) {
  auto file = File::open_target(path, bytes);
  if (!file) throw std::runtime_error(file.error().message());
  return *std::move(file);
}

Error error_of(const Result<std::unique_ptr<File>>& file) {
  EXPECT_FALSE(file.has_value());
  return file ? Error{} : file.error();
}

/// Drops the file's pages, so that the next read goes to the disk.
void forget_cached(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  fsync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

void write_whole(File& file, const std::string& text, Bytes skew) {
  AlignedBytes bytes(text.size(), skew);
  bytes.set(text);
  const auto written = file.write(bytes.data(), text.size(), 0);
  ASSERT_TRUE(written) << written.error().message();
}

// ---- sources --------------------------------------------------------------------------------------------------------

TEST(Source, GivesEveryByteOfEverySizeFromEveryOffsetIntoAnyBuffer) {
  Folder folder;
  for (const Bytes size : sizes) {
    const std::string text = random_text(size);
    write_text(folder / "in", text);
    for (const bool direct : {true, false}) {
      const auto file = source(folder / "in");
      EXPECT_EQ(file->size(), size);
      if (!direct) file->stop_direct();
      for (const Bytes offset : sizes) {
        if (offset > size) continue;
        for (const Bytes skew : skews) {
          forget_cached(folder / "in");
          AlignedBytes bytes(size - offset, skew);
          const auto read = file->read(bytes.data(), size - offset, offset);
          ASSERT_TRUE(read) << read.error().message();
          ASSERT_EQ(bytes.text(), text.substr(offset)) << size << " from " << offset << " to +" << skew;
        }
      }
    }
  }
}

RC_GTEST_PROP(Source, GivesAnyPieceOfAnyFile, ()) {
  Folder folder;
  const auto size = *rc::gen::inRange<Bytes>(1, 300'000);
  const auto offset = *rc::gen::inRange<Bytes>(0, size);
  const auto count = *rc::gen::inRange<Bytes>(0, size - offset + 1);
  const std::string text = random_text(size, static_cast<unsigned>(size));
  write_text(folder / "in", text);
  AlignedBytes bytes(count, *rc::gen::element<Bytes>(0, 3, 4096));
  RC_ASSERT(source(folder / "in")->read(bytes.data(), count, offset).has_value());
  RC_ASSERT(bytes.text() == text.substr(offset, count));
}

TEST(Source, RefusesWhatIsNoRegularFileWithoutWaitingForIt) {
  Folder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(error_of(File::open_source(folder / "fifo")).message(), AllOf(HasSubstr("fifo"), HasSubstr("a FIFO")));
  EXPECT_THAT(error_of(File::open_source(folder.path())).message(), HasSubstr("a directory"));
  EXPECT_THAT(error_of(File::open_source("/dev/zero")).message(), HasSubstr("a device"));
}

TEST(Source, ThatDoesNotExistIsNotFoundByName) {
  Folder folder;
  for (const std::string name : {"none", "none/none"}) {
    const Error error = error_of(File::open_source(folder / name));
    EXPECT_EQ(error.kind, ErrorKind::not_found);
    EXPECT_THAT(error.message(), HasSubstr(folder / name));
  }
  EXPECT_EQ(error_of(File::open_source("")).kind, ErrorKind::not_found);
}

TEST(Source, ThatMayNotBeReadIsAnIoError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  Folder folder;
  write_text(folder / "secret", "x");
  chmod((folder / "secret").c_str(), 0);
  EXPECT_EQ(error_of(File::open_source(folder / "secret")).kind, ErrorKind::io);
}

TEST(Source, ThatIsCutWhileItIsReadSaysWhere) {
  Folder folder;
  for (const Bytes left : {Bytes{0}, Bytes{5000}, Bytes{65536}}) {
    for (const bool direct : {true, false}) {
      write_text(folder / "in", random_text(200'000));
      forget_cached(folder / "in");
      const auto file = source(folder / "in");
      if (!direct) file->stop_direct();
      ASSERT_EQ(truncate((folder / "in").c_str(), static_cast<off_t>(left)), 0);
      AlignedBytes bytes(200'000);
      const auto read = file->read(bytes.data(), 200'000, 0);
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().kind, ErrorKind::io);
      EXPECT_THAT(read.error().message(),
                  AllOf(HasSubstr(folder / "in"), HasSubstr("at byte " + std::to_string(left) + " of 200000")));
    }
  }
}

TEST(Source, IsNotReadBeyondItsEnd) {
  Folder folder;
  write_text(folder / "in", "12345");
  const auto file = source(folder / "in");
  char bytes[8];
  for (const auto& [count, offset] : std::vector<std::pair<Bytes, Bytes>>{{6, 0}, {1, 5}, {0, 6}, {~Bytes{0}, 2}}) {
    const auto read = file->read(bytes, count, offset);
    ASSERT_FALSE(read) << count << " at " << offset;
    EXPECT_EQ(read.error().kind, ErrorKind::invalid_argument);
  }
  EXPECT_TRUE(file->read(bytes, 0, 5));
}

TEST(Source, IsReadByManyThreadsAtOnce) {
  Folder folder;
  const std::string text = random_text(1_MiB);
  write_text(folder / "in", text);
  const auto file = source(folder / "in");
  std::vector<std::thread> threads;
  for (Bytes part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      AlignedBytes bytes(256_KiB);
      EXPECT_TRUE(file->read(bytes.data(), 256_KiB, part * 256_KiB));
      EXPECT_EQ(bytes.text(), text.substr(part * 256_KiB, 256_KiB));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Source, IsTheSameFileUnderEveryNameItHas) {
  Folder folder;
  write_text(folder / "in", "x");
  write_text(folder / "other", "x");
  std::filesystem::create_hard_link(folder / "in", folder / "hard");
  std::filesystem::create_symlink("in", folder / "soft");
  const auto file = source(folder / "in");
  for (const std::string name : {"in", "hard", "soft", "./in"}) EXPECT_TRUE(same_file(*file, folder / name)) << name;
  for (const std::string name : {"other", "none"}) EXPECT_FALSE(same_file(*file, folder / name)) << name;
}

TEST(Source, CannotBeWrittenOrCommitted) {
  Folder folder;
  write_text(folder / "in", "12345");
  const auto file = source(folder / "in");
  EXPECT_FALSE(file->write("abc", 3, 0));
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(read_text(folder / "in"), "12345");
}

// ---- targets --------------------------------------------------------------------------------------------------------

TEST(Target, HoldsEveryByteOfEverySizeFromAnyBuffer) {
  Folder folder;
  for (const Bytes size : sizes) {
    for (const bool direct : {true, false}) {
      for (const Bytes skew : skews) {
        const std::string text = random_text(size);
        const auto file = target(folder / "out", size);
        if (!direct) file->stop_direct();
        write_whole(*file, text, skew);
        ASSERT_TRUE(file->commit());
        ASSERT_EQ(read_text(folder / "out"), text) << size << " from +" << skew;
      }
    }
  }
}

RC_GTEST_PROP(Target, DoesNotMindTheOrderAndSizeOfItsPieces, ()) {
  Folder folder;
  const auto size = *rc::gen::inRange<Bytes>(1, 300'000);
  const auto piece = *rc::gen::element<Bytes>(4096, 10'000, 65'536);
  const std::string text = random_text(size, static_cast<unsigned>(size));
  AlignedBytes bytes(size, *rc::gen::element<Bytes>(0, 1));
  bytes.set(text);
  std::vector<Bytes> offsets;
  for (Bytes offset = 0; offset < size; offset += piece) offsets.push_back(offset);
  std::shuffle(offsets.begin(), offsets.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
  const auto file = target(folder / "out", size);
  for (const Bytes offset : offsets) {
    RC_ASSERT(file->write(bytes.data() + offset, std::min(piece, size - offset), offset).has_value());
  }
  RC_ASSERT(file->commit().has_value());
  RC_ASSERT(read_text(folder / "out") == text);
}

TEST(Target, StandsUnderItsNameOnlyOnceCommitted) {
  Folder folder;
  const auto file = target(folder / "out", 5);
  write_whole(*file, "12345", 0);
  EXPECT_THAT(folder.names(), testing::Not(testing::Contains("out")));
  ASSERT_TRUE(file->commit(/*durable=*/true));
  EXPECT_THAT(folder.names(), ElementsAre("out"));
  EXPECT_TRUE(file->commit()) << "committing again does nothing";
  EXPECT_EQ(read_text(folder / "out"), "12345");
}

TEST(Target, ThatIsDroppedLeavesNothingBehind) {
  Folder folder;
  {
    const auto file = target(folder / "out", 100'000);
    write_whole(*file, random_text(100'000), 0);
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Target, ThatIsDroppedLeavesTheOldFileAlone) {
  Folder folder;
  write_text(folder / "out", "old");
  write_whole(*target(folder / "out", 3), "new", 0);
  EXPECT_EQ(read_text(folder / "out"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

TEST(Target, OfAKilledProcessLeavesNothingBehind) {
  Folder folder;
  if (const int probe = open(folder.path().c_str(), O_TMPFILE | O_RDWR, 0600); probe >= 0) {
    close(probe);
  } else {
    GTEST_SKIP() << "the file system of " << folder.path() << " has no files without a name";
  }
  const pid_t child = fork();
  if (child == 0) {
    const auto file = File::open_target(folder / "out", 1000);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Target, ReplacesAFileAndTakesOverItsPermissions) {
  Folder folder;
  for (const mode_t mode : {0600u, 0640u, 0755u}) {
    write_text(folder / "out", "an older and longer text");
    ASSERT_EQ(chmod((folder / "out").c_str(), mode), 0);
    const auto file = target(folder / "out", 3);
    write_whole(*file, "new", 0);
    ASSERT_TRUE(file->commit());
    struct stat facts {};
    ASSERT_EQ(stat((folder / "out").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, mode);
    EXPECT_EQ(read_text(folder / "out"), "new");
    EXPECT_THAT(folder.names(), ElementsAre("out"));
  }
}

TEST(Target, ThatIsNewHasThePermissionsOfTheUmask) {
  Folder folder;
  const mode_t before = umask(027);
  ASSERT_TRUE(target(folder / "out", 3)->commit());
  umask(before);
  struct stat facts {};
  ASSERT_EQ(stat((folder / "out").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST(Target, IsWrittenThroughALink) {
  Folder folder;
  write_text(folder / "real", "old");
  std::filesystem::create_symlink("real", folder / "link");
  const auto file = target(folder / "link", 3);
  write_whole(*file, "new", 0);
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "real"), "new");

  std::filesystem::create_symlink("none", folder / "dangling");
  EXPECT_THAT(error_of(File::open_target(folder / "dangling", 3)).message(), HasSubstr("leads to no file"));
}

TEST(Target, StaysInItsDirectoryWhereverThatMoves) {
  Folder folder;
  std::filesystem::create_directory(folder / "before");
  const auto file = target(folder / "before/out", 3);
  write_whole(*file, "new", 0);
  std::filesystem::rename(folder / "before", folder / "after");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read_text(folder / "after/out"), "new");
}

TEST(Target, RefusesADirectoryADeviceAndAMissingDirectory) {
  Folder folder;
  std::filesystem::create_directory(folder / "directory");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {folder / "directory", folder / "directory/", folder / ".", folder / "directory/..",
                                  folder / "fifo", std::string("/dev/null"), std::string("/"), std::string()}) {
    EXPECT_EQ(error_of(File::open_target(path, 3)).kind, ErrorKind::io) << path;
  }
  EXPECT_EQ(error_of(File::open_target(folder / "none/out", 3)).kind, ErrorKind::not_found);
  write_text(folder / "file", "x");
  EXPECT_EQ(error_of(File::open_target(folder / "file/out", 3)).kind, ErrorKind::io);
  EXPECT_EQ(error_of(File::open_target(folder / std::string(300, 'n'), 3)).kind, ErrorKind::io);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Target, InAPlaceThatMayNotBeWrittenIsAnIoError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Folder folder;
  write_text(folder / "out", "old");
  chmod((folder / "out").c_str(), 0400);
  EXPECT_EQ(error_of(File::open_target(folder / "out", 3)).kind, ErrorKind::io);
  chmod(folder.path().c_str(), 0500);
  EXPECT_EQ(error_of(File::open_target(folder / "new", 3)).kind, ErrorKind::io);
  chmod(folder.path().c_str(), 0700);
}

TEST(Target, ThatCannotFitIsRefusedAtOnceAndLeavesNothing) {
  Folder folder;
  const Error error = error_of(File::open_target(folder / "out", Bytes{1} << 50));
  EXPECT_EQ(error.kind, ErrorKind::io);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("no room for 1 PiB"), HasSubstr("free")));
  EXPECT_EQ(error_of(File::open_target(folder / "out", ~Bytes{0})).kind, ErrorKind::invalid_argument);
  EXPECT_THAT(folder.names(), IsEmpty());
}

/// Runs in a child, whose limit is its own. SIGXFSZ keeps its default: it would end the child.
TEST(Target, AboveTheLimitOfTheProcessIsASentenceAndNoSignal) {
  Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto large = File::open_target(folder / "out", 4097);
    const auto small = File::open_target(folder / "out", 4096);
    const bool right = !large && large.error().kind == ErrorKind::io && small && (*small)->commit();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

TEST(Target, OnAFullFileSystemSaysWhatIsFree) {
  constexpr const char* memory_folder = "/dev/shm";
  if (access(memory_folder, W_OK) != 0) GTEST_SKIP() << "there is no file system of limited size to fill";
  std::error_code unknown;
  const auto space = std::filesystem::space(memory_folder, unknown);
  if (unknown || space.available > Bytes{1} << 46) GTEST_SKIP() << memory_folder << " has no limit";
  const std::string path = std::string(memory_folder) + "/peerlane-test-" + std::to_string(getpid());
  const Error error = error_of(File::open_target(path, space.capacity + 1_MiB));
  EXPECT_EQ(error.kind, ErrorKind::io);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("no room"), HasSubstr(memory_folder)));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Target, OnAFileSystemInMemoryWorksTheSame) {
  if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "there is no /dev/shm";
  const std::string path = "/dev/shm/peerlane-test-" + std::to_string(getpid());
  const std::string text = random_text(200'001);
  {
    const auto file = target(path, text.size());
    write_whole(*file, text, 0);
    ASSERT_TRUE(file->commit(/*durable=*/true));
  }
  const auto file = source(path);
  AlignedBytes bytes(text.size());
  EXPECT_TRUE(file->read(bytes.data(), text.size(), 0));
  EXPECT_EQ(bytes.text(), text);
  unlink(path.c_str());
}

TEST(Target, IsNotWrittenBeyondItsSize) {
  Folder folder;
  const auto file = target(folder / "out", 5);
  EXPECT_EQ(file->write("123456", 6, 0).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(file->write("1", 1, 5).error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(file->write("", 0, 5));
}

}  // namespace
}  // namespace peerlane

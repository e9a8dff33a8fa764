/// A file system without files that have no name (O_TMPFILE), as FAT, NFS and some overlays are: this program's own
/// openat stands before the C library's and can say so.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

#include "memory/file.hpp"
#include "unit/memory/folder.hpp"

namespace {
std::atomic<int> refusal_of_unnamed{0};
}

extern "C" int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = has_mode ? va_arg(more, mode_t) : 0;
  va_end(more);
  const int refusal = refusal_of_unnamed;
  if (refusal != 0 && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = refusal;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

namespace peerlane {
namespace {

using test::Folder;
using test::random_text;
using test::read_text;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

/// EOPNOTSUPP from the file system, EISDIR from a kernel that does not know the flag.
class HiddenName : public testing::TestWithParam<int> {
 protected:
  HiddenName() { refusal_of_unnamed = GetParam(); }
  ~HiddenName() override { refusal_of_unnamed = 0; }
  Folder folder_;
};

TEST_P(HiddenName, HoldsTheBytesUntilTheyAreCommitted) {
  const std::string text = random_text(200'001);
  auto target = File::open_target(folder_ / "out", text.size());
  ASSERT_TRUE(target) << target.error().message();
  EXPECT_THAT(folder_.names(), ElementsAre(AllOf(StartsWith(".out."), EndsWith(".peerlane"))));
  ASSERT_TRUE((*target)->write(text.data(), text.size(), 0));
  ASSERT_TRUE((*target)->commit(/*durable=*/true));
  target->reset();
  EXPECT_THAT(folder_.names(), ElementsAre("out"));
  EXPECT_EQ(read_text(folder_ / "out"), text);
}

TEST_P(HiddenName, IsUnlinkedWhenTheTargetIsDroppedOrDoesNotFit) {
  write_text(folder_ / "out", "old");
  ASSERT_TRUE(File::open_target(folder_ / "out", 5));
  ASSERT_FALSE(File::open_target(folder_ / "out", Bytes{1} << 50));
  EXPECT_THAT(folder_.names(), ElementsAre("out"));
  EXPECT_EQ(read_text(folder_ / "out"), "old");
}

TEST_P(HiddenName, FitsWhateverTheLengthOfTheTargets) {
  const std::string longest(255, 'n');
  auto target = File::open_target(folder_ / longest, 0);
  ASSERT_TRUE(target) << target.error().message();
  ASSERT_TRUE((*target)->commit());
  EXPECT_THAT(folder_.names(), ElementsAre(longest));
}

INSTANTIATE_TEST_SUITE_P(EveryRefusal, HiddenName, testing::Values(EOPNOTSUPP, EISDIR));

}  // namespace
}  // namespace peerlane

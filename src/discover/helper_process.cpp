#include "discover/helper_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>

#include "base/text.hpp"
#include "base/try.hpp"

namespace peerlane::discover {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* program_name = "peerlane-probe";
constexpr milliseconds death_patience{500};  // for a killed child that sits in an uninterruptible driver call
constexpr milliseconds look_interval{20};
constexpr double most_seconds = 3600;

std::string words_of(int error_number) {
  return std::generic_category().message(error_number);
}

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct Ending {
  bool known = true;  ///< false: somebody else in this process reaped it
  int status = 0;
};

/// A child process; killed and reaped when dropped.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  /// Nothing while it runs.
  std::optional<Ending> ending() {
    if (ending_) return ending_;
    int status = 0;
    pid_t answer = 0;
    do answer = waitpid(process_, &status, WNOHANG);
    while (answer < 0 && errno == EINTR);
    if (answer == process_) ending_ = Ending{true, status};
    if (answer < 0) ending_ = Ending{false, 0};  // SIGCHLD is ignored in this process, or its owner waits for all
    return ending_;
  }

  bool wait_until(Steady::time_point until) {
    while (!ending()) {
      if (Steady::now() >= until) return false;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }

  /// False when it cannot be killed, because it hangs inside the kernel; it then stays until it lets go.
  bool end() {
    if (ending()) return true;
    kill(process_, SIGKILL);
    return wait_until(Steady::now() + death_patience);
  }

 private:
  pid_t process_;
  std::optional<Ending> ending_;
};

/// What the child starts with: no descriptor of ours but the pipe, no blocked signal, default handlers.
class SpawnPlan {
 public:
  explicit SpawnPlan(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    problem_ = posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    add(posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO));
    add(posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0));
    add(posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1));
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    add(posix_spawnattr_setsigmask(&attributes_, &none));
    add(posix_spawnattr_setsigdefault(&attributes_, &all));
    add(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// An errno, or 0.
  int start(const std::string& path, std::vector<char*> words, pid_t* process) const {
    if (problem_ != 0) return problem_;
    words.push_back(nullptr);
    return posix_spawn(process, path.c_str(), &actions_, &attributes_, words.data(), environ);
  }

 private:
  void add(int problem) {
    if (problem_ == 0) problem_ = problem;
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  int problem_ = 0;
};

enum class Reading { open, finished, too_much };

/// Takes what the pipe holds now.
Reading drain(int pipe, std::string& text) {
  char block[1 << 16];
  for (;;) {
    const ssize_t got = read(pipe, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? Reading::open : Reading::finished;
    if (got == 0) return Reading::finished;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > most_helper_output) return Reading::too_much;
  }
}

/// Reads until the output ends, the child has ended (a grandchild may hold the pipe open), or the deadline.
Reading read_output(int pipe, Child& child, Steady::time_point deadline, std::string& text) {
  for (;;) {
    const bool ended = child.ending().has_value();
    const Reading reading = drain(pipe, text);
    if (reading != Reading::open || ended) return reading;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now());
    if (left.count() <= 0) return Reading::open;
    pollfd waiting{pipe, POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(std::min(left, look_interval).count()));
  }
}

Result<void> judge(const Ending& ending, const std::string& path) {
  if (!ending.known || (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 0)) return {};
  if (WIFEXITED(ending.status)) {
    return fail(ErrorKind::unavailable, "the helper ended with status " + std::to_string(WEXITSTATUS(ending.status)),
                path, "", WEXITSTATUS(ending.status));
  }
  const int signal = WTERMSIG(ending.status);
  const char* name = sigabbrev_np(signal);
  return fail(ErrorKind::unavailable,
              "the helper crashed with signal " + (name ? "SIG" + std::string(name) : std::to_string(signal)), path);
}

Error hung(Child& child, const std::string& path, double seconds) {
  const bool killed = child.end();
  return {ErrorKind::timeout,
          "the helper gave no answer within " + format_seconds(seconds) +
              (killed ? " and was killed" : " and cannot even be killed: it hangs inside the kernel"),
          path, "the kernel log says whether the driver is sick (NVRM, Xid)"};
}

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

std::string folder_of_this_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == sizeof path) return "";
  const std::string_view whole(path, static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.rfind('/')));
}

}  // namespace

Result<std::string> run_helper(const std::string& path, const std::vector<std::string>& arguments, double seconds) {
  seconds = seconds > 0 ? std::min(seconds, most_seconds) : 0;  // not a number: no time at all
  const auto deadline =
      Steady::now() + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorKind::io, "no pipe can be made: " + words_of(errno), path, "", errno);
  }
  const Descriptor output(ends[0]);
  Descriptor input(ends[1]);
  if (fcntl(output.get(), F_SETFL, O_NONBLOCK) != 0) {
    return fail(ErrorKind::io, "the pipe cannot be set up: " + words_of(errno), path, "", errno);
  }

  std::vector<char*> words{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  pid_t process = 0;
  if (const int problem = SpawnPlan(input.get()).start(path, std::move(words), &process); problem != 0) {
    return fail(ErrorKind::not_found, "the helper cannot be started: " + words_of(problem), path, "", problem);
  }
  Child child(process);
  input.close();

  std::string text;
  const Reading reading = read_output(output.get(), child, deadline, text);
  if (reading == Reading::too_much) {
    child.end();
    return fail(ErrorKind::unavailable, "the helper printed more than " + format_bytes(most_helper_output), path);
  }
  if (!child.wait_until(deadline)) return tl::unexpected(hung(child, path, seconds));
  if (const auto verdict = judge(*child.ending(), path); !verdict) return tl::unexpected(verdict.error());
  return text;
}

Result<std::string> find_helper(const std::string& wanted) {
  if (!wanted.empty()) {
    if (is_program(wanted)) return wanted;
    return fail(ErrorKind::not_found, "the helper that was named is no program that can be run", wanted);
  }
  std::vector<std::string> folders{folder_of_this_program()};
#ifdef PEERLANE_LIBEXEC
  folders.emplace_back(PEERLANE_LIBEXEC);
#endif
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + program_name;
    if (!folder.empty() && is_program(path)) return path;
  }
  return fail(ErrorKind::not_found, std::string(program_name) + " is in none of: " + join(folders, ", "), "",
              "install it beside this program");
}

}  // namespace peerlane::discover

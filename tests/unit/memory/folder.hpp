#pragma once
/// A folder of a test's own, and bytes to put into it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "peerlane/units.hpp"

namespace peerlane::test {

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "/peerlane-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

inline std::string random_text(Bytes count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string text(count, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Bytes that begin `skew` after a 64 KiB boundary, so that both kinds of descriptor get their turn.
class AlignedBytes {
 public:
  explicit AlignedBytes(Bytes count, Bytes skew = 0)
      : memory_(static_cast<char*>(std::aligned_alloc(64_KiB, (count + skew + 64_KiB) / 64_KiB * 64_KiB))),
        count_(count),
        skew_(skew) {}
  ~AlignedBytes() { std::free(memory_); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  char* data() { return memory_ + skew_; }
  void set(const std::string& text) { text.copy(data(), count_); }
  std::string text() { return {data(), count_}; }

 private:
  char* memory_;
  Bytes count_;
  Bytes skew_;
};

}  // namespace peerlane::test

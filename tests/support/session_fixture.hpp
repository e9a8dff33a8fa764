#pragma once
/// Sessions, bytes and oracles for tests that copy.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "peerlane/peerlane.hpp"
#include "sim/simulation.hpp"
#include "vendor/cuda.hpp"

namespace peerlane::test {

using ByteVector = std::vector<unsigned char>;

inline ByteVector random_bytes(Bytes count, std::uint64_t seed) {
  ByteVector bytes(count);
  std::mt19937_64 random(seed);
  Bytes i = 0;
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (; i < count; ++i) bytes[i] = static_cast<unsigned char>(random());
  return bytes;
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message();
    throw std::runtime_error(result.error().message());
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline Session open(const std::string& machine, std::vector<std::string> faults = {}, bool threaded = false) {
  Options options;
  options.machine = machine;
  options.faults = std::move(faults);
  options.threaded = threaded;
  return must(Session::open(std::move(options)));
}

/// Moves bytes between host vectors and a region with the driver's own calls, without any of our lanes.
class Oracle {
 public:
  explicit Oracle(Session& session) : session_(session) {}

  void put(const Region& to, const ByteVector& bytes) const {
    if (bytes.empty()) return;
    if (to.place.kind != PlaceKind::gpu) {
      std::memcpy(to.data(), bytes.data(), bytes.size());
      return;
    }
    with_stream(to, [&](const auto& driver, cu::Stream stream) {
      return driver.cuMemcpyHtoDAsync(to.address, bytes.data(), bytes.size(), stream);
    });
  }

  ByteVector get(const Region& from) const {
    ByteVector bytes(from.bytes);
    if (bytes.empty()) return bytes;
    if (from.place.kind != PlaceKind::gpu) {
      std::memcpy(bytes.data(), from.data(), bytes.size());
      return bytes;
    }
    with_stream(from, [&](const auto& driver, cu::Stream stream) {
      return driver.cuMemcpyDtoHAsync(bytes.data(), from.address, bytes.size(), stream);
    });
    return bytes;
  }

 private:
  template <class Call>
  void with_stream(const Region& on, const Call& call) const {
    const vendor::CudaDriver& driver = session_.driver();
    cu::Context context = nullptr;
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, on.place.index), cu::Status::success);
    {
      vendor::ContextScope scope(driver, context);
      cu::Stream stream = nullptr;
      EXPECT_EQ(driver.cuStreamCreate(&stream, cu::stream_non_blocking), cu::Status::success);
      EXPECT_EQ(call(driver, stream), cu::Status::success);
      EXPECT_EQ(driver.cuStreamSynchronize(stream), cu::Status::success);
      EXPECT_EQ(driver.cuStreamDestroy(stream), cu::Status::success);
    }
    driver.cuDevicePrimaryCtxRelease(on.place.index);
  }

  Session& session_;
};

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "peerlane-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, const ByteVector& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline ByteVector read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace peerlane::test

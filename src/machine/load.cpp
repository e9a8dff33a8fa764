#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/text.hpp"
#include "base/try.hpp"
#include "peerlane/machine.hpp"

namespace peerlane {
namespace {

constexpr Bytes longest_file = 64_MiB;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

tl::unexpected<Error> refused(const std::string& path, int error) {
  return fail(ErrorKind::io, "cannot read the machine file: " + std::generic_category().message(error), path, "",
              error);
}

/// A word that was meant as a preset is a slip of the tongue; something with a slash or a dot was meant as a file.
tl::unexpected<Error> unknown(const std::string& name_or_path) {
  const bool means_file = name_or_path.find_first_of("/.") != std::string::npos;
  const std::vector<std::string_view> names = preset_names();
  return fail(means_file ? ErrorKind::not_found : ErrorKind::invalid_argument,
              "no preset has this name and no file lies at this path", "machine " + quote(name_or_path),
              "presets are " + join({names.begin(), names.end()}) + "; or give the path of a machine file");
}

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return errno == ENOENT ? unknown(path) : refused(path, errno);
  std::string text;
  char chunk[65536];
  while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, file.get())) {
    text.append(chunk, got);
    if (text.size() > longest_file) {
      return fail(ErrorKind::invalid_argument, "a machine file of more than 64 MiB is not read", path);
    }
  }
  if (std::ferror(file.get()) != 0) return refused(path, errno);
  return text;
}

}  // namespace

Result<Machine> load_machine(const std::string& name_or_path) {
  for (const std::string_view name : preset_names()) {
    if (name == name_or_path) return preset(name);
  }
  if (name_or_path.find('\0') != std::string::npos) return unknown(name_or_path);
  return machine_from_json(PEERLANE_TRY(read_file(name_or_path)), name_or_path);
}

}  // namespace peerlane

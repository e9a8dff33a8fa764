#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/text.hpp"
#include "base/try.hpp"
#include "importers/formats.hpp"
#include "importers/join.hpp"
#include "importers/merge.hpp"
#include "peerlane/machine.hpp"

namespace peerlane {
namespace {

using namespace importers;

constexpr Bytes longest_file = 64_MiB;
constexpr std::string_view standard_input = "-";

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
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
              "presets are " + peerlane::join({names.begin(), names.end()}) + "; or give the path of a machine file");
}

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(path == standard_input ? stdin : std::fopen(path.c_str(), "re"));
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

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// What all files together say: at most one that is a machine already, and what the others add.
struct Sources {
  std::optional<Machine> whole;
  std::vector<Said> said;

  Result<void> add(const std::string& name) {
    for (const std::string_view known : preset_names()) {
      if (known == name) return add_whole(PEERLANE_TRY(preset(name)));
    }
    if (name.find('\0') != std::string::npos) return unknown(name);
    const std::string text = PEERLANE_TRY(read_file(name));
    const std::string source = name == standard_input ? "standard input" : name;
    if (looks_like_json(text)) return add_whole(PEERLANE_TRY(machine_from_json(text, source)));
    return add_text({source, text});
  }

 private:
  Result<void> add_whole(Machine machine) {
    if (whole) {
      return fail(ErrorKind::invalid_argument, "two whole machines cannot be merged", "machine " + quote(machine.name),
                  "beside " + quote(whole->name) + " give what it does not know: `topo -m`, `topo -p2p`, `-L`, …");
    }
    whole = std::move(machine);
    return {};
  }

  /// One paste may hold the output of several commands.
  Result<void> add_text(const Text& text) {
    std::optional<Error> first_error;
    bool any = false;
    for (const Importer& importer : all_importers()) {
      if (!importer.knows(text.text)) continue;
      auto read = importer.read(text);
      if (read) {
        said.push_back(std::move(*read));
        any = true;
      } else if (!first_error) {
        first_error = read.error();
      }
    }
    if (any) return {};
    if (first_error) return tl::unexpected(std::move(*first_error));
    std::vector<std::string> formats;
    for (const Importer& importer : all_importers()) formats.emplace_back(importer.format);
    return unreadable(text, 1, 1,
                      "this is no description of a machine that Peerlane knows; expected our JSON, " +
                          peerlane::join(formats));
  }
};

}  // namespace

Result<Machine> load_machine(const std::string& name_or_path) {
  return load_machine(std::vector{name_or_path});
}

Result<Machine> load_machine(const std::vector<std::string>& names_or_paths) {
  Sources sources;
  if (std::ranges::count(names_or_paths, standard_input) > 1) {
    return fail(ErrorKind::invalid_argument, "standard input can be read once", "machine \"-\"");
  }
  for (const std::string& name : names_or_paths) PEERLANE_TRY(sources.add(name));
  if (!sources.whole && sources.said.empty()) return unknown("");
  Said said = merge(sources.said);
  if (!sources.whole) return importers::join(std::move(said));
  if (!sources.said.empty()) overlay(*sources.whole, said);
  return std::move(*sources.whole);
}

}  // namespace peerlane

/// The command `peerlane`: words in, one verb run, an exit code out.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "base/text.hpp"
#include "base/try.hpp"
#include "print/json.hpp"
#include "print/output.hpp"
#include "verbs.hpp"

namespace peerlane::cli {

namespace {

/// Which options a verb takes besides --help.
enum Takes : unsigned { takes_json = 1, takes_machine = 2, takes_size = 4, takes_places = 8, takes_files = 16, takes_svg = 32, takes_form = 64 };

constexpr unsigned takes_session = takes_json | takes_machine;

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view example;
  unsigned takes;
  Result<void> (*run)(const Request&);
  bool tells_failures =
      false;  ///< under --json it prints its own document when it fails, with what was done until then
};

constexpr std::array verbs = {
    Verb{"map", "Show the machine: GPUs, links, the best road of every ordered pair", "peerlane map --machine dgx-h100",
         takes_session | takes_size, run_map},
    Verb{"plan", "Show the road a copy would take, the runners-up, and why others are closed",
         "peerlane plan gpu:0 gpu:1 --size 1GiB", takes_session | takes_size | takes_places, run_plan},
    Verb{"copy", "Copy along a chain of places; the digest is checked at every one",
         "peerlane copy file:in.bin gpu:0 gpu:1 file:out.bin", takes_session | takes_size | takes_places | takes_files,
         run_copy, true},
    Verb{"record", "Write this machine down, so that others can simulate it", "peerlane record > box.json",
         takes_session | takes_form, run_record},
    Verb{"sim", "Explain simulated machines: presets, faults", "peerlane sim", takes_json, run_sim},
};

constexpr std::string_view footer =
    "Places: gpu:N, host (pinned), host:N (pinned, on NUMA node N), mem (pageable), file:PATH\n"
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 data mismatch, 4 below a threshold, 5 timeout, 6 device lost,\n"
    "            7 not available here";

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const auto& verb : verbs) names.emplace_back(verb.name);
  return names;
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(verbs, name, &Verb::name);
  return found == verbs.end() ? nullptr : &*found;
}

void add_options(CLI::App& app, const Verb& verb, Words& words) {
  const auto add = [&](unsigned need, const char* name, auto& word, const char* type, const char* meaning) {
    if ((verb.takes & need) != 0) app.add_option(name, word, meaning)->type_name(type);
  };
  const auto add_flag = [&](unsigned need, const char* name, bool& flag, const char* meaning) {
    if ((verb.takes & need) != 0) app.add_flag(name, flag, meaning);
  };
  add(takes_places, "places", words.places, "PLACE", "where the bytes are, and where they go");
  add_flag(takes_json, "--json", words.json, "one JSON document on stdout, everything else on stderr");
  add_flag(takes_machine, "--strict", words.strict, "fail rather than take a fallback");
  add(takes_size, "--size", words.size, "SIZE", "how many bytes: 64MiB, 1GB, 4096");
  add(takes_machine, "--deadline", words.deadline, "TIME", "how long one transfer may take: 2s, 250ms (default 60s)");
  add(takes_svg, "--svg", words.svg, "FILE", "draw the machine");
  add(takes_form, "--as", words.form, "json|nccl", "our JSON (default), or the XML that NCCL_TOPO_FILE takes");
  add_flag(takes_files, "--durable", words.durable, "a file is on its disk before its hop counts as done");
  add(takes_machine, "--seed", words.seed, "N", "fixes all chance: the source's pattern, the simulation (default 0)");
  if ((verb.takes & takes_machine) != 0) {
    // Without allow_extra_args an option that repeats takes the words after it as well.
    app.add_option("--machine", words.machines,
                   "a simulated machine: a preset, a file that describes one (JSON, `nvidia-smi topo -m`, NCCL or hwloc "
                   "XML, lspci, …), - for stdin; several describe one machine together")
        ->type_name("NAME|FILE")
        ->allow_extra_args(false);
    // `peerlane sim` documents it.
    app.add_option("--fault", words.faults)->allow_extra_args(false)->group("");
  }
}

/// The whole grammar. Unknown words are left over, for `refuse_left_over` to say something useful about.
void describe(CLI::App& app, Words& words) {
  app.name("peerlane");
  app.set_version_flag("--version", "peerlane " PEERLANE_VERSION);
  app.require_subcommand(0, 1);
  app.footer(std::string(footer));
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  for (const auto& verb : verbs) {
    auto* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->group("Verbs");
    sub->footer(fmt::format("Example: {}", verb.example));
    sub->allow_extras();
    add_options(*sub, verb, words);
  }
}

Result<void> refuse_unknown_verb(std::span<char*> words) {
  if (words.empty()) {
    return fail(ErrorKind::invalid_argument, fmt::format("a verb is missing; there are {}", join(verb_names())), "",
                "`peerlane --help` explains them");
  }
  const std::string_view first = words.front();
  if (find_verb(first) != nullptr || first == "--help" || first == "-h" || first == "--version") return {};
  const auto what = first.starts_with('-') ? "options follow the verb" : "no such verb";
  const auto guess = did_you_mean(first, verb_names());
  return fail(ErrorKind::invalid_argument, fmt::format("{}; the verbs are {}", what, join(verb_names())), quote(first),
              guess.empty() ? "`peerlane --help` explains them" : guess);
}

Result<void> refuse_left_over(const CLI::App& sub) {
  const auto left_over = sub.remaining();
  if (left_over.empty()) return {};
  std::vector<std::string> options;
  for (const CLI::Option* option : sub.get_options()) {
    if (!option->get_lnames().empty() && !option->get_group().empty())
      options.push_back("--" + option->get_lnames()[0]);
  }
  const auto& word = left_over.front();
  const auto what = word.starts_with('-') ? "no such option" : "a word too many";
  return fail(ErrorKind::invalid_argument, fmt::format("{}; `{}` takes {}", what, sub.get_name(), join(options)),
              quote(word), did_you_mean(word, options));
}

/// What the command was told to do: run a verb, or just say something (help, the version).
struct Order {
  const Verb* verb = nullptr;
  Request request = {};
  std::string saying = {};
};

Result<Order> read_words(CLI::App& app, const Words& words, int argc, char** argv) {
  PEERLANE_TRY(refuse_unknown_verb(std::span(argv, argc).subspan(std::min(argc, 1))));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Order{.saying = app.help()};
  } catch (const CLI::CallForVersion& version) {
    return Order{.saying = version.what()};
  } catch (const CLI::ParseError& error) {
    return fail(ErrorKind::invalid_argument, error.what(), "", fmt::format("`peerlane {} --help` shows how", argv[1]));
  }
  auto& sub = *app.get_subcommands().front();
  PEERLANE_TRY(refuse_left_over(sub));
  return Order{.verb = find_verb(sub.get_name()), .request = PEERLANE_TRY(understand(words))};
}

/// Under --json a failure is a document too. Where stdout itself is what failed, there is nobody to read it.
void print_failure(const Error& error, bool as_receipt) {
  std::ignore = write_out(as_receipt ? receipt_json({}, &error) : error_json(error));
}

Result<void> carry_out(const Order& order) {
  if (order.verb == nullptr) return write_document(order.saying);
  auto outcome = order.verb->run(order.request);
  if (!outcome && order.request.json && !order.verb->tells_failures) print_failure(outcome.error(), false);
  return outcome;
}

Result<void> obey(CLI::App& app, const Words& words, int argc, char** argv) {
  const auto order = read_words(app, words, argc, argv);
  if (order) return carry_out(*order);
  // The words were not understood, so `words.json` may not have been read.
  const bool wants_json = std::ranges::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  const Verb* verb = argc > 1 ? find_verb(argv[1]) : nullptr;
  if (wants_json) print_failure(order.error(), verb != nullptr && verb->tells_failures);
  return tl::unexpected(order.error());
}

/// The one place where an error becomes words and a number.
int report(const Error& error) {
  write_error(fmt::format("peerlane: {}\n", error.message()));
  return exit_code(error.kind);
}

}  // namespace

}  // namespace peerlane::cli

int main(int argc, char** argv) {
  using namespace peerlane::cli;
  guard_standard_streams();
  Words words;
  CLI::App app("Moves bytes between GPU memories, and between them and everything around, by the most direct road.");
  describe(app, words);
  const auto outcome = obey(app, words, argc, argv);
  return outcome ? 0 : report(outcome.error());
}

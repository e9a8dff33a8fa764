#include "chain.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.hpp"
#include "base/try.hpp"

namespace peerlane::cli {

namespace {

/// Where a file is, or would be: links followed, dots taken out.
std::filesystem::path location(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

/// The same file, whatever it is called: by another path, through a symbolic link, or as a hard link.
bool same_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  if (std::filesystem::equivalent(one, other, ignored)) return true;
  const auto place = location(one);
  return !place.empty() && place == location(other);
}

Result<void> refuse_same_file(const Stop& earlier, const Stop& later) {
  const bool twice = earlier.is_file() && later.is_file() && same_file(earlier.path, later.path);
  if (!twice) return {};
  return fail(ErrorKind::invalid_argument, "both are the same file, and a file stands once in a chain",
              hop_name(earlier.name, later.name), "write to another name");
}

/// A place of the chain once it has its memory, or its file.
struct Post {
  Region region;
  Buffer buffer;  ///< empty where the place is a file
};

class Chain {
 public:
  Chain(const Request& request, Session& session, Witness& witness)
      : request_(request), session_(session), witness_(witness), stops_(request.stops), posts_(stops_.size()) {}

  Result<void> carry() {
    PEERLANE_TRY(open_source());
    PEERLANE_TRY(plan_hops());
    PEERLANE_TRY(open_targets());
    PEERLANE_TRY(read_source());
    for (std::size_t hop = 0; hop + 1 < stops_.size(); ++hop) PEERLANE_TRY(carry_hop(hop));
    return {};
  }

 private:
  // --- before a byte moves ---

  Result<void> open_source() {
    if (stops_.front().is_file()) return open_source_file();
    if (request_.size) {
      bytes_ = *request_.size;
      return {};
    }
    return fail(ErrorKind::invalid_argument, "how many bytes is not said, and no file gives it", "--size",
                "as in --size 64MiB");
  }

  Result<void> open_source_file() {
    const auto& source = stops_.front();
    const auto whole = PEERLANE_TRY(session_.open_source(source.path));
    bytes_ = request_.size.value_or(whole.bytes);
    if (bytes_ > whole.bytes) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("{} were asked for and the file has {}", format_bytes(bytes_), format_bytes(whole.bytes)),
                  source.name, "leave --size out to copy all of it");
    }
    posts_.front().region = whole.slice(0, bytes_);
    return {};
  }

  /// Finds out now whether every place exists and every hop has a road.
  Result<void> plan_hops() {
    for (std::size_t hop = 0; hop + 1 < stops_.size(); ++hop) {
      auto plan = PEERLANE_TRY(session_.plan(stops_[hop].place, stops_[hop + 1].place, bytes_));
      if (request_.options.strict && !plan.direct) {
        return fail(ErrorKind::unavailable, plan.fallback, name_of(hop), "without --strict the fallback is taken");
      }
      plans_.push_back(std::move(plan));
    }
    return {};
  }

  /// A full disk is found out now as well.
  Result<void> open_targets() {
    for (std::size_t i = 1; i < stops_.size(); ++i) {
      if (stops_[i].is_file()) posts_[i].region = PEERLANE_TRY(session_.open_target(stops_[i].path, bytes_));
    }
    return {};
  }

  Result<void> read_source() {
    const auto& source = stops_.front();
    if (!source.is_file()) {
      PEERLANE_TRY(take_memory(0));
      witness_.progress.say(fmt::format("filling {} of {}", format_bytes(bytes_), source.name));
      PEERLANE_TRY(session_.fill(posts_.front().region, request_.options.seed));
    }
    witness_.progress.say(fmt::format("reading {} of {}", format_bytes(bytes_), source.name));
    witness_.report.digest = PEERLANE_TRY(session_.digest(posts_.front().region));
    return {};
  }

  // --- one hop ---

  Result<void> carry_hop(std::size_t hop) {
    return copy(hop)
        .and_then([&](Receipt receipt) { return check(hop, std::move(receipt)); })
        .and_then([&] { return settle(hop); })
        .map_error([&](Error error) { return at_hop(hop, std::move(error)); });
  }

  Result<Receipt> copy(std::size_t hop) {
    witness_.progress.say(progress_text(hop, "copying"));
    if (!stops_[hop + 1].is_file()) PEERLANE_TRY(take_memory(hop + 1));
    CopyOptions options;
    options.timed = true;
    options.deadline = request_.options.deadline;
    options.strict = request_.options.strict;
    options.durable = request_.durable;
    auto transfer = PEERLANE_TRY(session_.copy(posts_[hop].region, posts_[hop + 1].region, options));
    auto receipt = PEERLANE_TRY(transfer.wait());
    receipt.from_name = stops_[hop].name;
    receipt.to_name = stops_[hop + 1].name;
    return receipt;
  }

  Result<void> check(std::size_t hop, Receipt receipt) {
    witness_.progress.say(progress_text(hop, "checking"));
    const auto digest = PEERLANE_TRY(session_.digest(posts_[hop + 1].region));
    const auto expected = *witness_.report.digest;
    receipt.verified = digest == expected;
    witness_.report.hops.push_back(receipt);
    PEERLANE_TRY(witness_.hop_done(receipt, plans_[hop]));
    if (digest == expected) return {};
    return fail(ErrorKind::data_mismatch,
                fmt::format("the bytes that arrived are not those of {}: digest {}, expected {}", stops_.front().name,
                            digest_text(digest), digest_text(expected)),
                "", "do not trust this road; one through another place may carry them right");
  }

  /// The bytes are right: a file gets its name, and the place before has done its part.
  Result<void> settle(std::size_t hop) {
    auto& reached = posts_[hop + 1];
    posts_[hop].buffer.reset();
    if (!stops_[hop + 1].is_file()) return {};
    PEERLANE_TRY(session_.commit(reached.region, request_.durable));
    const bool goes_on = hop + 2 < stops_.size();
    if (goes_on) reached.region = PEERLANE_TRY(session_.open_source(stops_[hop + 1].path));
    return {};
  }

  Result<void> take_memory(std::size_t at) {
    posts_[at].buffer = PEERLANE_TRY(session_.allocate(stops_[at].place, bytes_));
    posts_[at].region = posts_[at].buffer.region();
    return {};
  }

  std::string name_of(std::size_t hop) const { return hop_name(stops_[hop].name, stops_[hop + 1].name); }

  std::string progress_text(std::size_t hop, std::string_view doing) const {
    return fmt::format("hop {} of {}: {} {}, {}", hop + 1, stops_.size() - 1, doing, format_bytes(bytes_),
                       name_of(hop));
  }

  Error at_hop(std::size_t hop, Error error) const {
    const auto name = name_of(hop);
    const bool named = error.where.find(name) != std::string::npos;
    if (!named) error.where = error.where.empty() ? name : fmt::format("{}, {}", name, error.where);
    return error;
  }

  const Request& request_;
  Session& session_;
  Witness& witness_;
  const std::vector<Stop>& stops_;
  std::vector<Post> posts_;
  std::vector<Plan> plans_;
  Bytes bytes_ = 0;
};

}  // namespace

Result<void> check_chain(const Request& request) {
  const auto& stops = request.stops;
  if (stops.size() < 2) {
    return fail(ErrorKind::invalid_argument, "a copy goes through at least two places", "peerlane copy",
                "as in `peerlane copy file:in.bin gpu:0 gpu:1 file:out.bin`");
  }
  for (std::size_t later = 1; later < stops.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      PEERLANE_TRY(refuse_same_file(stops[earlier], stops[later]));
    }
  }
  return {};
}

Result<void> carry_chain(const Request& request, Session& session, Witness& witness) {
  return Chain(request, session, witness).carry();
}

}  // namespace peerlane::cli

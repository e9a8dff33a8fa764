#include "json.hpp"

#include <nlohmann/json.hpp>

namespace peerlane::cli {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

/// A file's name may be no UTF-8, and JSON must be.
std::string dump(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The ends by their full names; a `Place` alone does not know which file.
Json place_names(const ReceiptRoute& route, const Receipt& receipt) {
  Json names = Json::array();
  for (const auto& place : route.places) names.push_back(to_string(place));
  if (names.size() >= 2) {
    names.front() = receipt.from_name;
    names.back() = receipt.to_name;
  }
  return names;
}

Json to_document(const Receipt& receipt) {
  Json routes = Json::array();
  for (const auto& route : receipt.routes) {
    routes.push_back({{"lanes", route.lanes}, {"places", place_names(route, receipt)}, {"bytes", route.bytes}});
  }
  return {{"from", receipt.from_name},
          {"to", receipt.to_name},
          {"bytes", receipt.bytes},
          {"seconds", receipt.seconds},
          {"bytes_per_s", receipt.bytes_per_s()},
          {"expected_seconds", receipt.expected_seconds},
          {"routes", std::move(routes)},
          {"fallback", text_or_null(receipt.fallback)},
          {"verified", or_null(receipt.verified)}};
}

/// Words for programs: they do not change when a sentence is put better.
std::string_view key(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::no_memory:
      return "no_memory";
    case ErrorKind::io:
      return "io";
    case ErrorKind::data_mismatch:
      return "data_mismatch";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::device_lost:
      return "device_lost";
    case ErrorKind::driver:
      return "driver";
  }
  return "driver";
}

Json to_document(const Error& error) {
  return {{"kind", key(error.kind)},
          {"message", error.what},
          {"where", text_or_null(error.where)},
          {"hint", text_or_null(error.hint)}};
}

}  // namespace

std::string receipt_json(const Report& report, const Error* error) {
  Json hops = Json::array();
  for (const auto& receipt : report.hops) hops.push_back(to_document(receipt));
  Json document = {{"schema", "peerlane.receipt/1"},
                   {"simulated", or_null(report.simulated)},
                   {"machine", text_or_null(report.machine)},
                   {"hops", std::move(hops)},
                   {"digest", report.digest ? Json(digest_text(*report.digest)) : Json()}};
  if (error != nullptr) document["error"] = to_document(*error);
  return dump(document);
}

std::string error_json(const Error& error) {
  return dump({{"schema", "peerlane.error/1"}, {"error", to_document(error)}});
}

}  // namespace peerlane::cli

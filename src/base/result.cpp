#include "peerlane/result.hpp"

namespace peerlane {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid argument";
    case ErrorKind::not_found:
      return "not found";
    case ErrorKind::unavailable:
      return "not available here";
    case ErrorKind::no_memory:
      return "out of memory";
    case ErrorKind::io:
      return "input/output error";
    case ErrorKind::data_mismatch:
      return "data mismatch";
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::device_lost:
      return "device lost";
    case ErrorKind::driver:
      return "driver error";
  }
  return "unknown error";
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return 2;
    case ErrorKind::data_mismatch:
      return 3;
    case ErrorKind::timeout:
      return 5;
    case ErrorKind::device_lost:
      return 6;
    case ErrorKind::unavailable:
      return 7;
    case ErrorKind::not_found:
    case ErrorKind::no_memory:
    case ErrorKind::io:
    case ErrorKind::cancelled:
    case ErrorKind::driver:
      return 1;
  }
  return 1;
}

std::string Error::message() const {
  std::string text = where.empty() ? "" : where + ": ";
  text += what.empty() ? to_string(kind) : what;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

}  // namespace peerlane

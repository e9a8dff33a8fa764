#include "lanes/file_io/file_io.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lanes/host_places.hpp"
#include "memory/file.hpp"

namespace peerlane::lanes {
namespace {

constexpr double request_s = 10e-6;  // a hand-over to a worker and one system call

}  // namespace

std::vector<Offer> FileIo::offers(const Machine& machine, Place from, Place to) const {
  const bool reads = from.kind == PlaceKind::file;
  const bool writes = to.kind == PlaceKind::file;
  if (reads == writes || !is_host_memory_here(machine, reads ? to : from)) return {};
  const int workers = std::max(machine.host.workers, 1);
  Hop hop;
  hop.from = from;
  hop.to = to;
  hop.lane = name();
  hop.drive = drive();
  hop.cost = {request_s, workers * (reads ? machine.host.file_read_bytes_per_s : machine.host.file_write_bytes_per_s)};
  hop.via = workers == 1 ? "1 worker" : fmt::format("{} workers", workers);
  hop.workers = workers;
  return {hop};
}

Result<void> FileIo::run(const Step& step) const {
  const bool reads = step.from.place.kind == PlaceKind::file;
  File* file = reads ? step.from.file : step.to.file;
  if (file == nullptr)
    return fail(ErrorKind::invalid_argument, "no open file was given for the file's end", where(step));
  return reads ? file->read(step.to.data(), step.from.bytes, step.from.address)
               : file->write(step.from.data(), step.from.bytes, step.to.address);
}

}  // namespace peerlane::lanes

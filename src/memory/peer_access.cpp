#include "memory/peer_access.hpp"

#include "base/try.hpp"
#include "peerlane/place.hpp"

namespace peerlane::memory {
namespace {

using vendor::ContextScope;

std::string way_name(int reader, int owner) {
  return to_string(gpu(reader)) + " → " + to_string(gpu(owner));
}

/// The refusals that say something about the pair get their own sentence.
Error refusal(const vendor::CudaDriver& driver, cu::Status status, int reader, int owner) {
  Error error = driver_error(driver, status, "cuCtxEnablePeerAccess", way_name(reader, owner));
  switch (status) {
    case cu::Status::peer_access_unsupported:
    case cu::Status::invalid_device:
      error.kind = ErrorKind::unavailable;
      error.what = "the driver gives " + to_string(gpu(reader)) + " no access to the memory of " +
                   to_string(gpu(owner)) + ": " + error.what;
      break;
    case cu::Status::too_many_peers:
      error.kind = ErrorKind::unavailable;
      error.what = to_string(gpu(reader)) + " or " + to_string(gpu(owner)) +
                   " has as many peers open as the hardware keeps (8 without NVSwitch): " + error.what;
      error.hint = "drop access that is no longer needed, here or in other processes";
      break;
    default:
      break;
  }
  return error;
}

}  // namespace

/// Closes its way when the last copy of the shared pointer goes.
struct PeerTable::Hold {
  std::shared_ptr<PeerTable> table;
  int reader;
  int owner;
  Hold(std::shared_ptr<PeerTable> the_table, int the_reader, int the_owner)
      : table(std::move(the_table)), reader(the_reader), owner(the_owner) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { table->drop(reader, owner); }
};

Result<std::shared_ptr<void>> PeerTable::allow(int reader, int owner) {
  std::lock_guard lock(mutex_);
  if (reader == owner) {
    PEERLANE_TRY(contexts_->context(reader));
    return std::make_shared<int>(reader);
  }
  auto way = ways_.find({reader, owner});
  if (way == ways_.end()) {
    const bool ours = PEERLANE_TRY(enable(reader, owner));
    way = ways_.emplace(std::pair(reader, owner), Way{0, ours}).first;
  }
  ++way->second.holders;
  return std::make_shared<Hold>(shared_from_this(), reader, owner);
}

/// Whether it was us who opened the way.
Result<bool> PeerTable::enable(int reader, int owner) {
  const vendor::CudaDriver& driver = contexts_->driver();
  const cu::Context owners = PEERLANE_TRY(contexts_->context(owner));
  ContextScope scope(driver, PEERLANE_TRY(contexts_->context(reader)));
  PEERLANE_TRY(vendor::check(driver, scope.status(), "cuCtxPushCurrent", to_string(gpu(reader))));
  const cu::Status status = driver.cuCtxEnablePeerAccess(owners, 0);
  if (status == cu::Status::success) return true;
  if (status == cu::Status::peer_access_already_enabled) return false;
  return tl::unexpected(refusal(driver, status, reader, owner));
}

void PeerTable::drop(int reader, int owner) noexcept {
  // The lock is held over the driver's call: who opens this way meanwhile must not be told that it is open already.
  std::lock_guard lock(mutex_);
  const auto way = ways_.find({reader, owner});
  if (way == ways_.end() || --way->second.holders > 0) return;
  if (way->second.ours) disable(reader, owner);
  ways_.erase(way);
}

void PeerTable::disable(int reader, int owner) noexcept {
  if (contexts_->abandoned(reader) || contexts_->abandoned(owner)) return;
  const auto readers = contexts_->context(reader);
  const auto owners = contexts_->context(owner);
  if (!readers || !owners) return;
  ContextScope scope(contexts_->driver(), *readers);
  if (scope.status() == cu::Status::success) contexts_->driver().cuCtxDisablePeerAccess(*owners);
}

bool PeerTable::is_open(int reader, int owner) const {
  if (reader == owner) return true;
  std::lock_guard lock(mutex_);
  return ways_.count({reader, owner}) > 0;
}

}  // namespace peerlane::memory

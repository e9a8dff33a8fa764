#pragma once
/// What stands behind the driver's handles. Handles are numbers looked up in tables, never pointers that are followed.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sim/faults.hpp"
#include "sim/kernels.hpp"
#include "sim/memory.hpp"
#include "sim/roads.hpp"
#include "sim/timeline.hpp"

namespace peerlane::sim {

struct Stream;
struct Context;

/// One cuEventRecord. Whoever waits for it keeps it, whatever becomes of the event.
struct Record {
  bool done = false;
  TimePoint at{};
  std::vector<std::weak_ptr<Stream>> waiting;
};

/// Looks in vain at something that has not happened, with nothing else happening between.
struct Polls {
  std::uint64_t happened = 0;
  int count = 0;
};

/// One end of an operation.
struct End {
  Place place;
  std::shared_ptr<Memory> memory;  ///< null for pageable memory
  std::uint64_t address = 0;
  std::shared_ptr<std::vector<std::byte>> snapshot;  ///< pageable source, read at the call

  std::byte* data() const {
    if (snapshot) return snapshot->data();
    return memory ? memory->at(address) : reinterpret_cast<std::byte*>(address);
  }
  Bytes offset() const { return memory ? address - memory->base : 0; }
};

struct CopyWork {
  End from;
  End to;
  Bytes bytes = 0;
};
struct MemsetWork {
  End to;
  std::byte value{};
  Bytes bytes = 0;
};
struct KernelWork {
  KernelCall call;
};
struct RecordWork {
  std::shared_ptr<Record> record;
};
struct WaitWork {
  std::shared_ptr<Record> record;
};
struct WaitValueWork {
  End at;
  std::uint32_t value = 0;
  unsigned flags = 0;
};
struct WriteValueWork {
  End at;
  std::uint32_t value = 0;
};
struct HostWork {
  cu::HostFunction function = nullptr;
  void* data = nullptr;
};
struct FreeWork {
  std::shared_ptr<Memory> memory;
};

struct Operation {
  using Work = std::variant<CopyWork, MemsetWork, KernelWork, RecordWork, WaitWork, WaitValueWork, WriteValueWork,
                            HostWork, FreeWork>;
  std::uint64_t serial = 0;
  std::shared_ptr<Stream> stream;
  Work work;
  std::vector<std::shared_ptr<Memory>> uses;
  Road road;           ///< of what takes time: copies, memsets, kernels
  Bytes crossing = 0;  ///< bytes that count on the links
  Bytes flowing = 0;   ///< bytes that take time on them: fewer where the host has carried most of them itself
  bool started = false;
  bool over = false;  ///< finished, or ended with its context: nothing of it happens any more
  bool holds_engine = false;
  bool waits_for_engine = false;
  Effects effects;
  std::optional<Timeline::FlowId> flow;
};

struct Stream {
  Context* context = nullptr;
  cu::Stream handle = nullptr;
  bool blocking = false;  ///< ordered against the legacy stream
  bool is_legacy = false;
  std::deque<std::shared_ptr<Operation>> queue;
  Polls polls;
};

struct Event {
  Context* context = nullptr;
  bool timed = true;
  std::shared_ptr<Record> record;  ///< of the last cuEventRecord; null before the first
  Polls polls;
};

struct Module {
  Context* context = nullptr;
};
struct Function {
  Context* context = nullptr;
  cu::Module module = nullptr;
  const Kernel* kernel = nullptr;
};

struct Pool {
  int gpu = 0;
  cu::Pool handle = nullptr;
  bool is_default = false;
  std::map<int, int> access;  ///< AccessFlags of other GPUs
  int allocations = 0;
};

/// The primary context of a GPU.
struct Context {
  int gpu = 0;
  cu::Context handle = nullptr;
  int references = 0;
  cu::Status error = cu::Status::success;        ///< sticky: what killed it
  std::set<int> peers;                           ///< whose cuMemAlloc memory it may reach
  std::shared_ptr<Stream> legacy;                ///< the NULL stream, made when first used
  std::vector<std::shared_ptr<Stream>> streams;  ///< also those that were destroyed with work left
};

struct Gpu {
  Context context;
  bool lost = false;
  Bytes memory = 0;
  Bytes used = 0;
  int idle_engines = 0;
  std::deque<std::weak_ptr<Operation>> engine_queue;
  std::shared_ptr<Pool> default_pool;
};

/// Handles of one kind, in the order in which they were made.
template <class Handle, class Object>
class Table {
 public:
  Object* find(Handle handle) const {
    const auto entry = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return entry == objects_.end() ? nullptr : entry->second.get();
  }
  std::shared_ptr<Object> share(Handle handle) const {
    const auto entry = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return entry == objects_.end() ? nullptr : entry->second;
  }
  void add(Handle handle, std::shared_ptr<Object> object) {
    objects_.emplace(reinterpret_cast<std::uintptr_t>(handle), std::move(object));
  }
  void remove(Handle handle) { objects_.erase(reinterpret_cast<std::uintptr_t>(handle)); }
  template <class Condition>
  std::size_t remove_if(Condition condition) {
    return std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
  }
  const auto& all() const { return objects_; }

 private:
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace peerlane::sim

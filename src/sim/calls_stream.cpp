/// Streams and events.

#include <algorithm>

#include "sim/world.hpp"

namespace peerlane::sim {

using cu::Status;

Status World::cuStreamCreate(cu::Stream* stream, unsigned flags) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  if (stream == nullptr || flags > cu::stream_non_blocking) return Status::invalid_value;
  auto made = std::make_shared<Stream>();
  made->context = context;
  made->handle = new_handle<cu::Stream>();
  made->blocking = flags == 0;
  *stream = made->handle;
  context->streams.push_back(made);
  streams_.add(made->handle, made);
  return Status::success;
}

/// Returns at once; what the stream still holds runs to its end.
Status World::cuStreamDestroy(cu::Stream handle) {
  const auto stream = streams_.share(handle);
  if (!stream) return Status::invalid_handle;
  streams_.remove(handle);
  if (stream->queue.empty()) std::erase(stream->context->streams, stream);
  return stream->context->error;
}

Status World::cuStreamSynchronize(cu::Stream handle) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  if (stream->queue.empty()) return Status::success;
  const auto last = stream->queue.back();
  return wait(*stream->context, [&] { return last->over; });
}

Status World::cuStreamQuery(cu::Stream handle) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  if (stream->queue.empty()) return Status::success;
  const Status answer = poll(stream->polls);
  PEERLANE_STATUS(stream->context->error);
  return stream->queue.empty() ? Status::success : answer;
}

Status World::cuStreamWaitEvent(cu::Stream handle, cu::Event event_handle, unsigned flags) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  Event* event = nullptr;
  PEERLANE_STATUS(find(event_handle, event));
  if (flags != 0) return Status::invalid_value;
  if (event->record) submit(stream, WaitWork{event->record}, {});
  return Status::success;
}

Status World::cuStreamGetCtx(cu::Stream handle, cu::Context* context) {
  if (context == nullptr) return Status::invalid_value;
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  *context = stream->context->handle;
  return Status::success;
}

Status World::cuStreamIsCapturing(cu::Stream handle, int* capturing) {
  if (capturing == nullptr) return Status::invalid_value;
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  *capturing = 0;  // no call of the table begins a capture
  return Status::success;
}

Status World::cuStreamWaitValue32(cu::Stream handle, cu::DevicePtr address, std::uint32_t value, unsigned flags) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  if (flags != cu::wait_value_geq && flags != cu::wait_value_equal) return Status::invalid_value;
  End end;
  if (address % sizeof value != 0) return Status::invalid_value;
  PEERLANE_STATUS(find_end(address, sizeof value, Side::device, end));
  if (!may_touch(stream->context->gpu, *end.memory, false)) return Status::invalid_value;
  submit(stream, WaitValueWork{end, value, flags}, {end.memory});
  return Status::success;
}

Status World::cuStreamWriteValue32(cu::Stream handle, cu::DevicePtr address, std::uint32_t value, unsigned flags) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  constexpr unsigned no_memory_barrier = 1;
  if (flags > no_memory_barrier || address % sizeof value != 0) return Status::invalid_value;
  End end;
  PEERLANE_STATUS(find_end(address, sizeof value, Side::device, end));
  if (!may_touch(stream->context->gpu, *end.memory, true)) return Status::invalid_value;
  submit(stream, WriteValueWork{end, value}, {end.memory});
  return Status::success;
}

Status World::cuLaunchHostFunc(cu::Stream handle, cu::HostFunction function, void* data) {
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(handle, stream));
  if (function == nullptr) return Status::invalid_value;
  submit(stream, HostWork{function, data}, {});
  return Status::success;
}

Status World::cuEventCreate(cu::Event* event, unsigned flags) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  constexpr unsigned known_flags = 3;  // blocking synchronisation, no timing
  if (event == nullptr || (flags & ~known_flags) != 0) return Status::invalid_value;
  auto made = std::make_shared<Event>();
  made->context = context;
  made->timed = (flags & cu::event_disable_timing) == 0;
  *event = new_handle<cu::Event>();
  events_.add(*event, std::move(made));
  return Status::success;
}

Status World::cuEventDestroy(cu::Event handle) {
  const auto event = events_.share(handle);
  if (!event) return Status::invalid_handle;
  events_.remove(handle);
  return event->context->error;
}

Status World::cuEventRecord(cu::Event handle, cu::Stream stream_handle) {
  Context* context = nullptr;
  PEERLANE_STATUS(current(context));
  Event* event = nullptr;
  PEERLANE_STATUS(find(handle, event));
  std::shared_ptr<Stream> stream;
  PEERLANE_STATUS(find(stream_handle, stream));
  if (event->context != stream->context) return Status::invalid_handle;
  event->record = std::make_shared<Record>();
  submit(stream, RecordWork{event->record}, {});
  return Status::success;
}

Status World::cuEventQuery(cu::Event handle) {
  Event* event = nullptr;
  PEERLANE_STATUS(find(handle, event));
  const auto record = event->record;
  if (!record || record->done) return Status::success;
  const auto kept = events_.share(handle);
  const Status answer = poll(kept->polls);
  PEERLANE_STATUS(kept->context->error);
  return record->done ? Status::success : answer;
}

Status World::cuEventSynchronize(cu::Event handle) {
  Event* event = nullptr;
  PEERLANE_STATUS(find(handle, event));
  const auto record = event->record;
  if (!record) return Status::success;
  return wait(*event->context, [&] { return record->done; });
}

Status World::cuEventElapsedTime(float* milliseconds, cu::Event start_handle, cu::Event end_handle) {
  if (milliseconds == nullptr) return Status::invalid_value;
  Event* start = nullptr;
  Event* end = nullptr;
  PEERLANE_STATUS(find(start_handle, start));
  PEERLANE_STATUS(find(end_handle, end));
  if (start->context != end->context || !start->timed || !end->timed) return Status::invalid_handle;
  if (!start->record || !end->record) return Status::invalid_handle;
  if (!start->record->done || !end->record->done) return Status::not_ready;
  *milliseconds = static_cast<float>(seconds(end->record->at - start->record->at) * 1e3);
  return Status::success;
}

}  // namespace peerlane::sim

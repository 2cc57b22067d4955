// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/task/trace_stamp.hpp"

namespace flotilla::dispatch {

namespace {

using perfetto::event_type;
using perfetto::flow_direction;

// A program that gives each task another label gains nothing from numbers for them.
constexpr std::size_t max_labels = 10'000;

template <class Record>
Record record_of(std::span<std::uint64_t const> words) noexcept {
  Record made;
  std::memcpy(static_cast<void*>(&made), words.data(), sizeof made);
  return made;
}

std::string_view text_of(memory_op_kind kind) noexcept {
  switch (kind) {
    case memory_op_kind::host_to_device: return "copy from host";
    case memory_op_kind::device_to_host: return "copy to host";
    case memory_op_kind::device_to_device: return "copy within device";
    case memory_op_kind::fill: return "fill";
  }
  return "copy";
}

}  // namespace

trace_encoder::trace_encoder(trace_names names)
    : names_(std::move(names)), tracks_(to_, names_), texts_(to_) {}

void trace_encoder::add_thread(std::uint32_t index, std::int64_t tid, std::string const& name) {
  threads_.resize(std::max<std::size_t>(threads_.size(), index + std::size_t{1}));
  threads_[index] = tracks_.thread(tid, name);
}

void trace_encoder::add(std::span<std::uint64_t const> record) {
  switch (record_of<record_head>(record).kind) {
    case record_kind::task:
      ++tasks_;
      return add(record_of<task_record>(record), record.subspan(words_of<task_record>));
    case record_kind::open_task:
      return add(record_of<task_record>(record), record.subspan(words_of<task_record>));
    case record_kind::launches:
      return add(record_of<launches_record>(record), record.subspan(words_of<launches_record>));
    case record_kind::batch: return add(record_of<batch_record>(record));
    case record_kind::drive: return add(record_of<drive_record>(record));
    case record_kind::counters: return add(record_of<counters_record>(record));
    case record_kind::measured: return add(record_of<measured_record>(record));
    case record_kind::message: {
      auto const message = record_of<message_record>(record);
      messages_[message.task] = message;
      return;
    }
    case record_kind::clock: return add(record_of<clock_record>(record));
  }
}

void trace_encoder::slice(trace_event begin, std::int64_t end) {
  begin.type = event_type::begin;
  to_.write(begin);
  to_.write({.type = event_type::end, .track = begin.track, .when = end});
}

void trace_encoder::count(std::uint64_t track, std::int64_t when, std::uint64_t value) {
  to_.write({.type = event_type::counter,
             .track = track,
             .when = when,
             .counter = static_cast<std::int64_t>(value)});
}

std::uint64_t trace_encoder::kernel_name(std::uint32_t kernel) {
  if (kernel >= kernel_names_.size()) { kernel_names_.resize(kernel + std::size_t{1}); }
  if (kernel_names_[kernel] == 0) { kernel_names_[kernel] = name(names_.kernel(kernel)); }
  return kernel_names_[kernel];
}

launch_packets& trace_encoder::launches_of(std::uint32_t kernel) {
  if (kernel >= launches_.size()) { launches_.resize(kernel + std::size_t{1}); }
  std::unique_ptr<launch_packets>& found = launches_[kernel];
  if (found == nullptr) {
    found = std::make_unique<launch_packets>(launch_packets::texts{
        kernel_name(kernel), texts_.submit, texts_.task, texts_.queue, texts_.run});
  }
  return *found;
}

void trace_encoder::add(launches_record const& launches, std::span<std::uint64_t const> tail) {
  launch_packets& packets = launches_of(launches.kernel);  // may write packets of its own
  launch_packets::values values{.from = to_.relative(launches.launched),
                                .ended = to_.relative(launches.ended),
                                .run = static_cast<std::uint64_t>(launches.ended - launches.begun)};
  for (; !tail.empty(); tail = tail.subspan(words_of<launch_entry>)) {
    auto const entry = record_of<launch_entry>(tail);
    values.submitted = to_.relative(launches.launched - static_cast<std::int64_t>(entry.queued));
    values.queue = entry.queued;
    values.thread = threads_[entry.thread];
    values.number = entry.number;
    values.row = tracks_.row(launches.device, launches.lane, trace_tracks::of_lane::tasks,
                             launches.launched, launches.ended);
    packets.append(values, to_.bytes());
    ++tasks_;
  }
}

std::string trace_encoder::kind_of(task_record const& task) {
  switch (task.kind) {
    case task_kind::launch:
    case task_kind::chunk: return names_.kernel(task.kernel);
    case task_kind::memory_op:
      return task.from_device != task_record::no_device
                 ? "copy from device " + std::to_string(task.from_device)
                 : std::string{text_of(static_cast<memory_op_kind>(task.operation))};
    case task_kind::callable: return "callable";
    case task_kind::recorded: return "replay";
    case task_kind::event_wait: return "wait for event";
    case task_kind::bulk_end: return "bulk";
    case task_kind::host: return "host task";
  }
  return "task";
}

std::uint64_t trace_encoder::name_of(task_record const& task, std::string_view label) {
  if (!label.empty()) {
    return to_.intern_below(perfetto::interned_data::event_names, label, max_labels);
  }
  bool const has_kernel = task.kind == task_kind::launch || task.kind == task_kind::chunk;
  return has_kernel ? kernel_name(task.kernel) : name(kind_of(task));
}

void trace_encoder::add(task_record const& task, std::span<std::uint64_t const> tail) {
  std::string_view const label{reinterpret_cast<char const*>(tail.data() + task.predecessors),
                               task.label_bytes};
  // A task that was never launched is at its end, or at the end of the trace, because its
  // predecessors are before it. A bulk begins with its submit.
  bool const is_bulk = task.kind == task_kind::bulk_end;
  bool const was_launched = task.launched != 0;
  std::int64_t const from = was_launched ? task.launched : is_bulk ? task.submitted : task.ended;
  trace_event begin{
      .type = event_type::begin,
      .track = tracks_.row(task.device, task.lane, trace_tracks::of_lane::tasks, from, task.ended),
      .when = from,
      .name = name_of(task, label),
      .category = texts_.task,
      .direction = flow_direction::in_out,
      .bind = task.number};
  std::int64_t const run = was_launched ? task.ended - task.begun : task.ended - from;
  if (begin.name == 0) { begin.text = label; }  // too many labels
  begin.add(texts_.queue, static_cast<std::uint64_t>(from - task.submitted));
  begin.add(texts_.run, static_cast<std::uint64_t>(run));
  if (!label.empty()) {
    begin.add(texts_.kernel, to_.intern(perfetto::interned_data::annotation_texts, kind_of(task)),
              perfetto::annotation::text);
  }
  if (task.amount != 0) {
    begin.add(task.kind == task_kind::chunk ? texts_.items : texts_.bytes, task.amount);
  }
  if (task.end != traced_end::succeeded) {
    begin.add(task.end == traced_end::unfinished ? texts_.unfinished : texts_.failed, 1,
              perfetto::annotation::flag);
  }
  trace_event end{.type = event_type::end, .track = begin.track, .when = task.ended};
  if (auto const found = messages_.find(task.number); found != messages_.end()) {
    message_record const message = found->second;
    messages_.erase(found);
    // The receiver may have begun to wait before the sender begins, so the arrow leads to its end.
    (message.sends != 0 ? begin.flow : end.ending_flow) = message.arrow;
    begin.add(message.sends != 0 ? texts_.to_rank : texts_.from_rank, message.peer);
  }
  to_.write({.type = event_type::instant,
             .track = threads_[task.thread],
             .when = task.submitted,
             .name = texts_.submit,
             .direction = flow_direction::out,
             .bind = task.number});
  if (task.from_device != task_record::no_device) {
    begin.ending_flow = perfetto::copy_flow | task.number;
    to_.write({.type = event_type::instant,
               .track = tracks_.device(task.from_device, trace_tracks::of_device::copies_out),
               .when = from,
               .name = texts_.copy_out,
               .category = texts_.copy,
               .flow = begin.ending_flow});
  }
  to_.write(begin);
  // An event has at most one arrow of this form. So the arrow from the first predecessor ends at
  // the end event of the slice, and the others at instants in the slice.
  for (std::size_t i = 1; i < task.predecessors; ++i) {
    to_.write({.type = event_type::instant,
               .track = begin.track,
               .when = from,
               .name = texts_.after,
               .direction = flow_direction::in,
               .bind = tail[i]});
  }
  if (task.predecessors != 0) {
    end.direction = flow_direction::in;
    end.bind = tail[0];
  }
  to_.write(end);
}

void trace_encoder::add(batch_record const& batch) {
  // The slice of the only task of a batch shows the batch, too.
  if (batch.tasks == 1 && batch.traced == 1) { return; }
  trace_event begin{.track = tracks_.row(batch.device, batch.lane, trace_tracks::of_lane::batches,
                                         batch.launched, batch.ended),
                    .when = batch.launched,
                    .name = batch.has_kernel ? kernel_name(batch.kernel) : name("batch"),
                    .category = texts_.batch};
  begin.add(texts_.tasks, batch.tasks);
  begin.add(texts_.run, static_cast<std::uint64_t>(batch.ended - batch.begun));
  slice(begin, batch.ended);
}

void trace_encoder::add(drive_record const& drive) {
  if (drive.device >= drive_names_.size()) { drive_names_.resize(drive.device + std::size_t{1}); }
  std::uint64_t& text = drive_names_[drive.device];
  if (text == 0) { text = name("drive device " + std::to_string(drive.device)); }
  slice({.track = threads_[drive.thread],
         .when = drive.begun,
         .name = text,
         .category = texts_.drive},
        drive.ended);
}

void trace_encoder::add(counters_record const& counters) {
  using of_device = trace_tracks::of_device;
  auto const device = static_cast<unsigned>(counters.device);
  count(tracks_.device(device, of_device::queued), counters.when, counters.queued);
  count(tracks_.device(device, of_device::in_flight), counters.when, counters.in_flight);
  count(tracks_.device(device, of_device::memory), counters.when, counters.memory);
}

void trace_encoder::add(measured_record const& measured) {
  trace_event begin{.track = tracks_.device(measured.device, trace_tracks::of_device::measured),
                    .when = measured.launched,
                    .name = kernel_name(measured.kernel),
                    .category = texts_.measured};
  begin.add(texts_.device_time, static_cast<std::uint64_t>(measured.took));
  begin.add(texts_.tasks, measured.tasks);
  slice(begin, measured.seen);
}

void trace_encoder::add(clock_record const& clock) {
  trace_event one{.type = event_type::instant,
                  .track = tracks_.process(),
                  .when = clock.answered,
                  .name = name("clock")};
  one.add(value("rank"), clock.rank);
  one.add(value("ranks"), clock.ranks);
  if (clock.run != 0) {
    one.add(value("run"), clock.run);
    one.add(value("rank0_ns"), static_cast<std::uint64_t>(clock.there));
    one.add(value("round_ns"), static_cast<std::uint64_t>(clock.answered - clock.asked));
  }
  to_.write(one);
}

void trace_encoder::add_dropped(std::int64_t when, std::uint64_t records) {
  count(tracks_.dropped(), when, records);
}

void trace_encoder::finish(std::int64_t when, trace_totals const& totals) {
  trace_event last{.type = event_type::instant,
                   .track = tracks_.process(),
                   .when = when,
                   .name = name("end of trace")};
  last.add(texts_.tasks, totals.tasks);
  last.add(value("dropped_events"), totals.dropped);
  last.add(value("unfinished_tasks"), totals.unfinished);
  last.add(value("every"), totals.every);
  to_.write(last);
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_texts.hpp"

#include <string_view>

namespace flotilla::dispatch {

trace_texts::trace_texts(packet_stream& to) {
  auto const value = [&](std::string_view text) {
    return to.intern(perfetto::interned_data::annotation_names, text);
  };
  auto const event = [&](std::string_view text) {
    return to.intern(perfetto::interned_data::event_names, text);
  };
  auto const category = [&](std::string_view text) {
    return to.intern(perfetto::interned_data::categories, text);
  };
  queue = value("queue_ns");
  run = value("run_ns");
  kernel = value("kernel");
  items = value("items");
  bytes = value("bytes");
  failed = value("failed");
  unfinished = value("unfinished");
  tasks = value("tasks");
  device_time = value("device_ns");
  to_rank = value("to_rank");
  from_rank = value("from_rank");
  submit = event("submit");
  after = event("after");
  copy_out = event("copy to another device");
  task = category("task");
  batch = category("batch");
  drive = category("drive");
  measured = category("measured");
  copy = category("copy");
}

}  // namespace flotilla::dispatch

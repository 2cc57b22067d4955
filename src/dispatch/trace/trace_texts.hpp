// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The texts of a trace that many events use.

#include <cstdint>

#include "dispatch/trace/packet_stream.hpp"

namespace flotilla::dispatch {

/// The numbers of texts (packet_stream::intern).
struct trace_texts {
  explicit trace_texts(packet_stream& to);

  std::uint64_t queue, run, kernel, items, bytes, tasks, device_time;  // of values
  std::uint64_t failed, unfinished, to_rank, from_rank;                // the same
  std::uint64_t submit, after, copy_out;                               // names
  std::uint64_t task, batch, drive, measured, copy;                    // categories
};

}  // namespace flotilla::dispatch

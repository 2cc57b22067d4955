// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Traces: files that show what the tasks, devices and threads of a runtime did, and when.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;
namespace detail {
class trace_session;
}

struct trace_options {
  /// The file to write, in Perfetto's protobuf format. An existing file is replaced.
  std::filesystem::path file{};
  /// One task of so many is in the trace, at least 1. The tasks are chosen by a hash, so the number
  /// is an average. Batches, threads and counters are always in the trace.
  std::uint32_t every = 1;
  /// The maximum size of the buffers between the threads and the writer of the trace, in bytes. A
  /// thread that ends tasks has 8 MiB of it, so at least 8 MiB are needed. What finds no room is
  /// not in the trace, but is counted.
  std::size_t memory = std::size_t{128} << 20;
};

/// What is in a trace that has ended.
struct trace_summary {
  std::uint64_t tasks = 0;       ///< tasks in the trace that have ended
  std::uint64_t dropped = 0;     ///< events that found no room in the buffers
  std::uint64_t unfinished = 0;  ///< chosen tasks that had not ended; most of them are drawn, too
  std::uint64_t bytes = 0;       ///< size of the file
};

/// Writes a trace of a runtime, from its construction until `end` or its destruction:
///
///     flotilla::trace trace{rt, {.file = "step.pftrace"}};
///     ...                                                   // submit tasks, and wait for them
///     trace.end();
///
/// The trace contains the tasks that are submitted in this time. A task that has not ended when the
/// trace ends is marked. docs/tracing.md explains the tracks, slices, arrows and counters. The
/// environment variable FLOTILLA_TRACE traces a runtime for its whole life.
///
/// Threads   Any thread may construct, end or destroy a trace, but only one at a time. A thread of
///           the trace encodes and writes. Threads that submit and drive never wait for it.
/// Cost      docs/tracing.md has measurements. Without a trace, nothing that can be measured.
/// Lifetime  If the runtime ends first, the trace ends with it.
class FLOTILLA_EXPORT trace {
 public:
  /// @throws invalid_argument  `options.file` is empty, `every` is 0, or `memory` is too small.
  /// @throws trace_failed      The file cannot be opened, or the runtime already has a trace. The
  ///                           message names the files.
  /// @throws used_after_fork, std::system_error, std::bad_alloc
  trace(runtime& owner, trace_options options);
  trace(trace&&) noexcept;
  trace& operator=(trace&&) noexcept;
  /// Ends the trace. If that fails, prints the error on stderr.
  ~trace();

  /// Ends the trace, and waits until the file is complete. Later calls return the same. Spends
  /// at most 40 ms on looking for tasks that have not ended.
  /// @throws trace_failed  The file could not be written, for example because the disk is full. The
  ///                       message names the file. The tasks are not affected.
  trace_summary end();

 private:
  std::shared_ptr<detail::trace_session> session_;
};

}  // namespace v0_1
}  // namespace flotilla

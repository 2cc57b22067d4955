// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One trace of a runtime: from its begin to its end.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/trace.hpp>

#include "dispatch/trace/trace_encoder.hpp"
#include "dispatch/trace/trace_file.hpp"
#include "dispatch/trace/trace_threads.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Owns the file and the thread that encodes and writes. The thread empties the buffers of all
/// threads every 1 to 5 ms.
///
/// The session outlives the runtime if the application keeps its trace object. The runtime ends the
/// session first, and an ended session uses nothing of the runtime.
class trace_session {
 public:
  /// Switches the tracer on.
  /// @param before_end  Is called before the tracer is switched off: notices the ends of tasks.
  /// @throws the exceptions of flotilla::trace::trace
  [[nodiscard]] static std::shared_ptr<trace_session> begin(dispatch::tracer& of,
                                                            trace_options options,
                                                            dispatch::trace_names names,
                                                            std::function<void()> before_end);
  /// Use `begin`.
  trace_session(dispatch::tracer& of, trace_options options, dispatch::trace_names names,
                std::function<void()> before_end);
  trace_session(trace_session const&) = delete;
  trace_session& operator=(trace_session const&) = delete;
  ~trace_session();

  /// Switches the tracer off, writes what is left, and closes the file. Later calls return the
  /// same. Threads: any.
  /// @throws trace_failed
  trace_summary end();
  /// The same, but prints an error on stderr.
  void end_and_report() noexcept;

 private:
  void start();
  /// Describes the threads that are new.
  void add_threads();
  void run() noexcept;
  /// Encodes what has arrived, and writes it. @return whether a buffer is filling fast.
  bool drain();
  void drain(dispatch::trace_thread& one, bool& is_filling);
  void note_dropped();
  void write();
  void write_end();
  void stop_thread();
  [[nodiscard]] std::string error_text() const;

  dispatch::tracer& tracer_;
  std::function<void()> const before_end_;
  trace_options const options_;
  dispatch::trace_file file_;
  dispatch::trace_encoder encoder_;
  std::uint32_t const process_;  // base::fork_generation of the process that began the trace

  // Only for the thread, and for `end` after the thread has ended:
  std::uint32_t number_ = 0;  // record_head::session
  std::vector<std::shared_ptr<dispatch::trace_thread>> threads_;
  struct counts {
    std::uint64_t submitted = 0, dropped = 0, dropped_tasks = 0;
    bool operator==(counts const&) const = default;
  };
  [[nodiscard]] counts count() const noexcept;
  counts before_;  // of all threads when the trace began
  std::uint64_t dropped_ = 0;
  std::vector<std::uint64_t> scratch_;
  bool failed_ = false;  // whether an error was reported, or the thread ran out of memory

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // under the mutex
  std::unique_ptr<std::thread> thread_;

  std::mutex end_mutex_;
  bool has_ended_ = false;  // under end_mutex_, as the next one
  trace_summary summary_;
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

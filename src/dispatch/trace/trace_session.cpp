// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_session.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "base/thread_pin.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

using dispatch::trace_thread;
using std::chrono::milliseconds;

constexpr std::size_t write_bytes = std::size_t{1} << 20;
// At 10 million tasks per second, a buffer is full after about 8 ms.
constexpr milliseconds busy_pause{1};
constexpr milliseconds idle_pause{5};

trace_options checked(trace_options options) {
  if (options.file.empty()) {
    throw invalid_argument("trace_options::file is empty; name the file to write");
  }
  if (options.every == 0) {
    throw invalid_argument("trace_options::every must be at least 1, but is 0");
  }
  if (options.memory < trace_thread::buffer_bytes) {
    throw invalid_argument("trace_options::memory must be at least " +
                           std::to_string(trace_thread::buffer_bytes) + " bytes, but is " +
                           std::to_string(options.memory));
  }
  return options;
}

}  // namespace

std::shared_ptr<trace_session> trace_session::begin(dispatch::tracer& of, trace_options options,
                                                    dispatch::trace_names names,
                                                    std::function<void()> before_end) {
  trace_options wanted = checked(std::move(options));
  std::lock_guard const lock{of.current().mutex};
  if (auto const& other = of.current().session; other != nullptr) {
    throw trace_failed("the trace '" + wanted.file.string() +
                       "' cannot begin: the runtime already writes the trace '" +
                       other->file_.path().string() + "'; end that trace first");
  }
  auto made = std::make_shared<trace_session>(of, std::move(wanted), std::move(names),
                                              std::move(before_end));
  made->start();
  of.current().session = made;
  return made;
}

trace_session::trace_session(dispatch::tracer& of, trace_options options,
                             dispatch::trace_names names, std::function<void()> before_end)
    : tracer_(of),
      before_end_(std::move(before_end)),
      options_(std::move(options)),
      file_(options_.file),
      encoder_(std::move(names)),
      process_(base::fork_generation()),
      scratch_(trace_thread::max_words) {}

trace_session::~trace_session() {
  // In a child of fork(), the thread does not exist, so it cannot be joined.
  if (base::fork_generation() != process_) { static_cast<void>(thread_.release()); }
}

void trace_session::start() {
  add_threads();
  std::size_t used = 0;  // by threads that have pushed for an earlier trace
  for (auto const& each : threads_) { used += each->has_buffer() ? trace_thread::buffer_bytes : 0; }
  tracer_.threads().budget().set(options_.memory > used ? options_.memory - used : 0);
  before_ = count();
  number_ = tracer_.begin(options_.every);
  try {
    thread_ = std::make_unique<std::thread>();  // first: without memory, no thread may exist
    *thread_ = base::start_thread([this] { run(); });
  } catch (...) {
    tracer_.end();
    throw;
  }
  ::pthread_setname_np(thread_->native_handle(), "flotilla-trace");
}

void trace_session::run() noexcept {
  try {
    bool stopping = false;
    while (!stopping) {
      {
        std::unique_lock lock{mutex_};
        stopping = stopping_;
      }
      bool const is_filling = drain();
      if (stopping || is_filling) { continue; }
      std::unique_lock lock{mutex_};
      wake_.wait_for(lock, encoder_.bytes().empty() ? idle_pause : busy_pause,
                     [this] { return stopping_; });
    }
  } catch (std::bad_alloc const&) {
    tracer_.end();
    failed_ = true;
    base::log_format(log_level::error, "no memory for the trace '%s'; it ends here",
                     file_.path().c_str());
  }
}

bool trace_session::drain() {
  bool is_filling = false;
  add_threads();
  for (std::size_t i = 0; i < threads_.size(); ++i) {  // `drain` may add threads
    // The registry and this list have a reference, and the owner has one until it ends.
    bool const has_owner_ended = threads_[i].use_count() == 2;
    std::atomic_thread_fence(std::memory_order_acquire);  // after it, all of its records are seen
    trace_thread& one = *threads_[i];
    drain(one, is_filling);
    if (has_owner_ended) { one.free_buffer(); }
  }
  note_dropped();
  if (!encoder_.bytes().empty()) { write(); }
  return is_filling;
}

void trace_session::add_threads() {
  std::size_t const known = threads_.size();
  tracer_.threads().refresh(threads_);
  for (std::size_t i = known; i < threads_.size(); ++i) {
    encoder_.add_thread(threads_[i]->index(), threads_[i]->tid(), threads_[i]->name());
  }
}

void trace_session::drain(trace_thread& one, bool& is_filling) {
  // A record may name a thread that has submitted its first task just now. That thread is in the
  // registry since before the record was pushed, so look there after the records have arrived.
  auto const prepare = [this] { add_threads(); };
  std::size_t const words = one.take_all(scratch_.data(), prepare, [this](auto const& record) {
    dispatch::record_head head;
    std::memcpy(static_cast<void*>(&head), record.data(), sizeof head);
    if (head.session == number_ && !failed_) { encoder_.add(record); }
    if (encoder_.bytes().size() >= write_bytes) { write(); }
  });
  is_filling = is_filling || words * sizeof(std::uint64_t) > trace_thread::buffer_bytes / 4;
}

trace_session::counts trace_session::count() const noexcept {
  counts sum;
  for (auto const& each : threads_) {
    sum.submitted += each->submitted();
    sum.dropped += each->dropped();
    sum.dropped_tasks += each->dropped_tasks();
  }
  return sum;
}

void trace_session::note_dropped() {
  std::uint64_t const dropped = count().dropped - before_.dropped;
  if (dropped == dropped_) { return; }
  dropped_ = dropped;
  encoder_.add_dropped(dispatch::tracer::now(), dropped);
}

void trace_session::write() {
  bool const is_good = file_.write(encoder_.bytes());
  encoder_.bytes().clear();
  if (is_good || failed_) { return; }
  tracer_.end();  // tasks need not pay for a trace that is lost
  failed_ = true;
  base::log(log_level::error, error_text());
}

std::string trace_session::error_text() const {
  return "the trace '" + file_.path().string() +
         "' cannot be written: " + std::generic_category().message(file_.error()) +
         "; it ends after " + std::to_string(file_.written()) + " bytes";
}

void trace_session::stop_thread() {
  {
    std::lock_guard const lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
  thread_->join();
  thread_.reset();
}

void trace_session::write_end() {
  counts const now = count();
  std::uint64_t const submitted = now.submitted - before_.submitted;
  std::uint64_t const gone = encoder_.tasks() + (now.dropped_tasks - before_.dropped_tasks);
  summary_ = {.tasks = encoder_.tasks(),
              .dropped = dropped_,
              .unfinished = submitted > gone ? submitted - gone : 0};
  encoder_.finish(dispatch::tracer::now(), {.tasks = summary_.tasks,
                                            .dropped = summary_.dropped,
                                            .unfinished = summary_.unfinished,
                                            .every = options_.every});
  write();
  file_.close();
  summary_.bytes = file_.written();
}

trace_summary trace_session::end() {
  if (base::fork_generation() != process_) {
    throw used_after_fork("a child of fork() cannot end the trace '" + file_.path().string() +
                          "' of its parent");
  }
  std::lock_guard const lock{end_mutex_};
  if (!std::exchange(has_ended_, true)) {
    before_end_();
    {
      std::lock_guard const tracer_lock{tracer_.current().mutex};
      tracer_.end();
    }
    stop_thread();
    write_end();
    std::lock_guard const tracer_lock{tracer_.current().mutex};
    tracer_.current().session.reset();  // from now on, another trace may begin
  }
  if (file_.error() != 0) { throw trace_failed(error_text()); }
  if (failed_) {
    throw trace_failed("there was no memory for the trace '" + file_.path().string() + "'");
  }
  return summary_;
}

void trace_session::end_and_report() noexcept {
  try {
    if (base::fork_generation() == process_) { end(); }
  } catch (std::exception const& why) {
    // If `failed_` is set, the error was printed when it occurred.
    if (!failed_) { base::log(log_level::error, why.what()); }
  }
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The log in Python. A thread that writes a message must not wait for the GIL: it may hold a lock
// or the lease of a device for which the thread with the GIL waits. So it puts the message into a
// queue, and a thread of Python (flotilla/_log.py) passes the messages on.
#include "log.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <flotilla/error/log.hpp>

#include "deferred.hpp"

namespace flotilla::python {

namespace {

struct py_message {
  std::string level;
  std::string text;
  double time = 0;  // seconds since 1970-01-01 00:00 UTC
  std::uint64_t thread = 0;
  std::optional<unsigned> device;
};

py_message copy_of(log_message const& message) {
  return {std::string{to_string(message.level)}, std::string{message.text},
          std::chrono::duration<double>(message.time.time_since_epoch()).count(), message.thread,
          message.device ? std::optional{message.device->value} : std::nullopt};
}

void print(std::string_view text) noexcept {
  std::fprintf(stderr, "flotilla: %.*s\n", static_cast<int>(text.size()), text.data());
}

/// The messages that wait for Python, each with its target.
class message_queue {
 public:
  struct entry {
    py_message what;
    shared_object target;
  };

  /// Chooses the target of later messages. Empty: stderr. The caller must hold the GIL.
  void send_to(std::optional<shared_object> target) {
    std::lock_guard const lock{mutex_};
    target_.swap(target);
  }
  /// Adds a message, or prints it on stderr if there is no target. Takes no GIL.
  void add(log_message const& message) {
    std::unique_lock lock{mutex_};
    if (!target_) {  // a call of log_to has just removed it
      lock.unlock();
      return print(message.text);
    }
    if (waiting_.size() >= max_waiting) {
      ++dropped_;
      return;
    }
    waiting_.push_back({copy_of(message), *target_});
    lock.unlock();
    changed_.notify_one();
  }
  /// Waits for the next message. The caller must not hold the GIL. @return empty after `stop`.
  std::optional<entry> take() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !waiting_.empty() || is_stopped_; });
    if (waiting_.empty()) { return std::nullopt; }
    entry next = std::move(waiting_.front());
    waiting_.pop_front();
    if (waiting_.empty() && dropped_ != 0) {
      py_message note = next.what;
      note.level = to_string(log_level::warning);
      note.text = std::to_string(std::exchange(dropped_, 0)) +
                  " messages of the log are missing, because Python did not take them fast enough";
      note.device.reset();
      waiting_.push_back({std::move(note), next.target});
    }
    return next;
  }
  /// Makes `take` return empty when no message is left.
  void stop() {
    {
      std::lock_guard const lock{mutex_};
      is_stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t max_waiting = 10'000;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<shared_object> target_;  // the mutex guards it, as the next ones
  std::deque<entry> waiting_;
  std::size_t dropped_ = 0;
  bool is_stopped_ = false;
};

/// The queue of this process. Never destroyed, because messages are written until the process ends.
std::atomic<message_queue*> queue_of_process{new message_queue};
message_queue& queue() noexcept { return *queue_of_process.load(); }

/// Passes messages on until stop_log is called.
void pass_messages() {
  message_queue& from = queue();  // not the one that a child of fork() makes
  while (true) {
    std::optional<message_queue::entry> next;
    {
      nb::gil_scoped_release const released;
      next = from.take();
    }
    if (!next) { return; }
    nb::handle const target{next->target.get()};
    try {
      target(std::move(next->what));
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable(target);
    } catch (std::exception const& why) {
      std::fprintf(stderr, "flotilla: a message of the log cannot be passed on: %s\n", why.what());
    }
  }
}

/// @param target  A function, or None for stderr.
void log_to(nb::handle target) {
  if (target.is_none()) {
    set_log_handler({});
    queue().send_to(std::nullopt);
    return;
  }
  queue().send_to(shared_object{target.ptr()});
  set_log_handler([](log_message const& message) { queue().add(message); });
}

/// From now on, messages go to stderr, because the interpreter ends. The thread of pass_messages
/// ends after the messages that wait.
void stop_log() {
  set_log_handler({});
  queue().send_to(std::nullopt);
  queue().stop();
}

/// In a child of fork(), the thread of pass_messages does not exist, and a thread of the parent may
/// have locked the queue.
void forget_log() {
  queue_of_process.store(new message_queue);
  set_log_handler({});
}

}  // namespace

void write_error(std::string const& text) noexcept {
  try {
    queue().add({log_level::error, std::chrono::system_clock::now(),
                 static_cast<std::uint64_t>(::gettid()), std::nullopt, text});
  } catch (...) { print(text); }  // no memory
}

void bind_log(nb::module_& to) {
  using namespace nb::literals;
  nb::class_<py_message>(to, "LogMessage", "A message of the log.")
      .def_ro("level", &py_message::level, "\"error\", \"warning\", \"info\" or \"debug\".")
      .def_ro("text", &py_message::text)
      .def_ro("time", &py_message::time, "As time.time().")
      .def_ro("thread", &py_message::thread, "As threading.get_native_id().")
      .def_ro("device", &py_message::device,
              "The ordinal of the device, or None if the message is not about one device.")
      .def("__repr__", [](py_message const& of) {
        return "<flotilla: message of the log, " + of.level + ": " + of.text + ">";
      });
  to.def(
      "set_log_level", [](std::string const& level) { set_log_level(parse_log_level(level)); },
      "level"_a,
      "Sets the level of the log: \"error\", \"warning\", \"info\" or \"debug\". It belongs to the "
      "process, and overrides FLOTILLA_LOG.");
  to.def(
      "log_level", [] { return std::string{to_string(current_log_level())}; },
      "Returns the level of the log.");
  // For flotilla/_log.py.
  to.def("_log_to", log_to, "target"_a.none());
  to.def("_pass_messages", pass_messages);
  to.def("_stop_log", stop_log);
  to.def("_forget_log", forget_log);
}

}  // namespace flotilla::python

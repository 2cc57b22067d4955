// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runtime behind the Python objects.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <flotilla/runtime.hpp>

#include "signals.hpp"

namespace flotilla::python {

namespace nb = nanobind;

/// Memory or a recording, which must end before the C++ runtime does.
class owned_part {
 public:
  virtual ~owned_part() = default;
  /// Frees the C++ object, unless something outside still uses its memory.
  /// @return Whether it is free.
  virtual bool free() noexcept = 0;
  /// Begins what the end of the object submits to the runtime, which will be closed next.
  virtual void begin_end() noexcept {}
};

/// What a destructor must wait for tasks to destroy, so that it is destroyed later.
class late_object {
 public:
  virtual ~late_object() = default;
  /// Whether the destructor would wait for a task. Releases the GIL.
  [[nodiscard]] virtual bool is_used() noexcept = 0;
};

/// Owns a C++ runtime. Every Python object of the runtime shares the core.
///
/// `close` frees the memory and the recordings of the runtime, and then ends the C++ runtime. If
/// arrays outside still view memory of the runtime, the C++ runtime ends after the last of them.
///
/// Threads: the caller of each function must hold the GIL. It guards all members.
class runtime_core : public std::enable_shared_from_this<runtime_core> {
 public:
  using error_handler = std::function<void(std::exception_ptr)>;
  /// @param on_error  runtime_options::on_error. If empty, errors are printed.
  runtime_core(std::unique_ptr<runtime> made, bool is_single_threaded, error_handler on_error);
  runtime_core(runtime_core const&) = delete;
  runtime_core& operator=(runtime_core const&) = delete;
  ~runtime_core();

  /// The C++ runtime.
  /// @throws runtime_closed  `close` was called.
  [[nodiscard]] runtime& usable() const {
    if (is_closed_) [[unlikely]] { refuse_closed(); }
    return *runtime_;
  }
  /// Whether objects of the runtime must not call it: it is closed.
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
  [[nodiscard]] bool is_single_threaded() const noexcept { return is_single_threaded_; }
  [[nodiscard]] bool has_gpus() const noexcept { return has_gpus_; }
  /// Whether the device runs in a process of its own, so that nothing in this process can use its
  /// memory.
  [[nodiscard]] bool is_isolated(unsigned device) const { return isolated_.at(device); }
  [[nodiscard]] bool any_isolated() const noexcept {
    return std::find(isolated_.begin(), isolated_.end(), true) != isolated_.end();
  }
  /// Whether this process is a child of the one that made the runtime.
  [[nodiscard]] bool is_in_child() const noexcept;
  [[nodiscard]] error_handler const& on_error() const noexcept { return on_error_; }

  /// While it exists, `close` does not end the runtime.
  class busy_call {
   public:
    explicit busy_call(runtime_core& core) : core_{core.shared_from_this()} { ++core_->calls_; }
    busy_call(busy_call const&) = delete;
    busy_call& operator=(busy_call const&) = delete;
    ~busy_call() { --core_->calls_; }

   private:
    std::shared_ptr<runtime_core> const core_;
  };

  /// Calls `function` without the GIL. `close` waits until all such calls have returned. An
  /// exception of a signal handler, such as that of Ctrl-C, ends the waits inside `function`.
  template <class F>
  auto without_gil(F&& function) {
    busy_call const busy{*this};
    interruptible_call call{give_up_, &was_interrupted_};
    return call.run(std::forward<F>(function));
  }
  /// Whether a signal handler has ended the last wait. Then a destructor must not wait, because it
  /// perhaps runs while the exception of the handler is raised.
  [[nodiscard]] bool was_interrupted() const noexcept { return was_interrupted_; }
  /// Notes that a wait has ended without an interruption.
  void note_wait() noexcept { was_interrupted_ = false; }

  /// Closes the clusters of the runtime, refuses new tasks, waits for all tasks, and frees all. If
  /// the wait is interrupted, the next call goes on. After that, a call does nothing.
  /// @throws would_deadlock  The caller is inside a function of a task. Nothing was closed.
  void close();
  /// Closes all runtimes of the process, at the end of the interpreter. If a signal handler raises,
  /// or has interrupted an earlier wait, tasks that have not ended are abandoned.
  static void close_all() noexcept;

  /// Keeps a text or the bytes of an image until the C++ runtime has ended.
  std::string const& keep(std::string bytes) {
    return *kept_.emplace_back(std::make_unique<std::string const>(std::move(bytes)));
  }

  /// Destroys an object later: in `close`, or in a call of `destroy_late` when it is not used any
  /// more. Functions of tasks must not wait for tasks, and destructors not after Ctrl-C.
  void destroy_later(std::unique_ptr<late_object> object) { late_.push_back(std::move(object)); }
  /// @param at_most  How many objects to look at.
  void destroy_late(std::size_t at_most) noexcept;

  void add(owned_part& part) { parts_.insert(&part); }
  /// Also ends the runtime if it is closed and this was its last part.
  void remove(owned_part& part) noexcept;

 private:
  [[noreturn]] static void refuse_closed();
  /// Calls visit(part) for each part. Forgets the parts for which it returns true.
  template <class Visit>
  void for_each_part(Visit const& visit) noexcept;
  void end() noexcept;
  void close_at_exit(bool& was_interrupted) noexcept;
  /// Leaves the C++ runtime, and what it uses, until the process ends.
  void abandon() noexcept;

  std::unique_ptr<runtime> runtime_;
  bool const is_single_threaded_;
  bool const has_gpus_;
  std::vector<bool> const isolated_;  // by device
  pid_t const process_;
  error_handler on_error_;
  bool is_closed_ = false;
  bool is_closing_ = false;       // whether a thread is inside `close`
  bool is_freed_ = false;         // whether `close` has ended
  bool was_interrupted_ = false;  // whether the last wait was interrupted
  std::optional<interruptible_call::clock::time_point> give_up_;  // when waits end
  std::size_t calls_ = 0;  // how many threads are inside `without_gil`
  std::set<owned_part*> parts_;
  std::vector<std::unique_ptr<std::string const>> kept_;
  std::deque<std::unique_ptr<late_object>> late_;  // what `destroy_later` has got
};

using core_ptr = std::shared_ptr<runtime_core>;

/// Marks that the current thread runs a Python function for a runtime, until the end of the block.
class inside_function {
 public:
  inside_function() noexcept { ++depth(); }
  inside_function(inside_function const&) = delete;
  inside_function& operator=(inside_function const&) = delete;
  ~inside_function() { --depth(); }
  [[nodiscard]] static bool is_active() noexcept { return depth() != 0; }

 private:
  static unsigned& depth() noexcept {
    thread_local unsigned current = 0;
    return current;
  }
};

}  // namespace flotilla::python

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tasks as senders (P2300, C++26). Optional: <flotilla/flotilla.hpp> does not include this header.
/// It uses std::execution if the standard library has it (`__cpp_lib_senders`), else NVIDIA's
/// stdexec. If FLOTILLA_USE_STDEXEC is defined, it uses stdexec in any case. Define this macro in
/// all source files of a program or in none.
///
/// Not tested with stdexec or a standard library, because no package registry that flotilla's build
/// uses has one with senders. The tests use a stand-in, which was written from the text of the
/// standard (tests/adaptors/exec_stand_in). If CMake finds stdexec, they use stdexec.

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <version>

#if defined(__cpp_lib_senders) && !defined(FLOTILLA_USE_STDEXEC)
#include <execution>
#include <stop_token>
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#else
#error "sender.hpp needs a library of senders (P2300): C++26 with __cpp_lib_senders, or stdexec"
#include <stdexec/concepts.hpp>  // missing too, which ends the compilation here
#endif

#include <flotilla/error/error.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

#if defined(__cpp_lib_senders) && !defined(FLOTILLA_USE_STDEXEC)
namespace exec = ::std::execution;
namespace exec_query = ::std;  // get_stop_token
#else
namespace exec = ::stdexec;
namespace exec_query = ::stdexec;
#endif

// The tags of the concepts were renamed (P4154: sender_t is now sender_tag), and stdexec followed.
// So the tags come from a sender of the library, which has them under either name.
using sender_tag = typename decltype(exec::just())::sender_concept;

template <class Operation>
struct operation_state_tag {
  using type = void;  // versions of stdexec without this tag
};
template <class Operation>
requires requires { typename Operation::operation_state_concept; }
struct operation_state_tag<Operation> {
  using type = typename Operation::operation_state_concept;
};

/// Cancels a task if it is not launched yet.
struct cancel_on_stop {
  void operator()() const noexcept {
    try {
      task->cancel();
    } catch (...) {}  // used_after_fork: the task does not run in this process
  }
  ticket const* task;
};

[[nodiscard]] inline bool is_cancellation(std::exception_ptr const& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (task_cancelled const&) { return true; } catch (...) {
    return false;
  }
}

/// A task that exists before its operation starts.
struct submitted {
  static constexpr bool is_lazy = false;
  ticket begin() noexcept { return std::move(task); }
  ticket task;
};

/// A task that its operation submits.
template <class Work>
struct submission {
  static constexpr bool is_lazy = true;
  ticket begin() { return rt->submit(std::move(what), options); }
  runtime* rt;
  Work what;
  task_options options;
};

/// The operation of a task_sender and a receiver.
template <class Task, class Receiver>
class task_operation {
  using stop_token = std::remove_cvref_t<decltype(exec_query::get_stop_token(
      exec::get_env(std::declval<Receiver const&>())))>;
  using stop_callback = typename stop_token::template callback_type<cancel_on_stop>;

 public:
  using operation_state_concept = typename operation_state_tag<decltype(exec::connect(
      exec::just(), std::declval<Receiver>()))>::type;

  template <class From>
  task_operation(From&& task, Receiver&& receiver)
      : task_{std::forward<From>(task)}, receiver_{std::move(receiver)} {}
  task_operation(task_operation const&) = delete;
  task_operation& operator=(task_operation const&) = delete;
  ~task_operation() = default;

  void start() & noexcept {
    std::exception_ptr error;
    try {
      stop_token stop = exec_query::get_stop_token(exec::get_env(receiver_));
      if (Task::is_lazy && stop.stop_requested()) {
        exec::set_stopped(std::move(receiver_));
        return;
      }
      ticket_ = task_.begin();
      // Register the callback before the continuation: the continuation destroys the callback, and
      // may run, and end this operation, as soon as it is attached.
      stop_callback_.emplace(std::move(stop), cancel_on_stop{&ticket_});
      ticket_.then([this](std::exception_ptr why) noexcept { complete(std::move(why)); });
      return;
    } catch (...) { error = std::current_exception(); }
    // No continuation is attached, so nothing else completes the operation.
    stop_callback_.reset();
    if (ticket_.valid()) { cancel_on_stop{&ticket_}(); }
    exec::set_error(std::move(receiver_), std::move(error));
  }

 private:
  void complete(std::exception_ptr why) noexcept {
    // The receiver may end the life of the stop token and of this operation. The destructor of the
    // callback waits until a call in another thread has returned, which uses the ticket.
    stop_callback_.reset();
    if (why == nullptr) {
      exec::set_value(std::move(receiver_));
    } else if (is_cancellation(why)) {
      exec::set_stopped(std::move(receiver_));
    } else {
      exec::set_error(std::move(receiver_), std::move(why));
    }
  }

  Task task_;
  Receiver receiver_;
  ticket ticket_;
  std::optional<stop_callback> stop_callback_;
};

template <class Task>
class task_sender {
 public:
  using sender_concept = sender_tag;
  using completion_signatures =
      exec::completion_signatures<exec::set_value_t(), exec::set_error_t(std::exception_ptr),
                                  exec::set_stopped_t()>;

  explicit task_sender(Task task) : task_{std::move(task)} {}

  // The standard asks this function, and older versions of stdexec the type.
  template <class, class...>
  static consteval completion_signatures get_completion_signatures() noexcept {
    return {};
  }

  template <exec::receiver Receiver>
  task_operation<Task, Receiver> connect(Receiver receiver) && {
    return {std::move(task_), std::move(receiver)};
  }
  template <exec::receiver Receiver>
  requires std::copy_constructible<Task> task_operation<Task, Receiver> connect(Receiver receiver)
  const& { return {task_, std::move(receiver)}; }

 private:
  Task task_;
};

}  // namespace detail

/// Returns a sender of a task that is already submitted:
///
///     stdexec::sync_wait(stdexec::when_all(flotilla::as_sender(rt.submit(first)),
///                                          flotilla::as_sender(rt.submit(second))));
///
/// The operation completes after the end of the task: with set_value() if the task succeeded, with
/// set_stopped() if it was cancelled (task_cancelled), else with set_error(std::exception_ptr),
/// which has what `wait` would throw.
///
/// If the environment of the receiver has a stop token, a stop request cancels the task, as
/// ticket::cancel does. A task whose launch has begun runs to its end, and the operation completes
/// with its result.
///
/// The operation completes on a thread that runs continuations (see ticket::then), and never inside
/// `start`, with two exceptions: the ticket has outlived its runtime, or `start` fails. `start`
/// fails if there is no memory for a continuation, or in a child of fork(). Then it completes with
/// set_error, and the task may still run.
///
/// In single-threaded mode, an operation completes only inside a `pump` or a wait of the runtime.
/// `sync_wait` does not pump, so it never returns in this mode.
/// @throws invalid_argument  The task is empty.
/// @throws used_after_fork   The ticket belongs to the parent of this process.
/// Threads   any. `sync_wait` inside a callable may deadlock, because flotilla does not see for
///           which task it waits.
/// Lifetime  The sender owns the ticket, so it can be connected only once, as an rvalue. The
///           destructor of the runtime first completes all started operations.
/// Cost      as ticket::then, and a stop callback. If the task failed, the call that completes the
///           operation throws and catches its error once.
[[nodiscard]] inline detail::task_sender<detail::submitted> as_sender(ticket task) {
  static_cast<void>(detail::has_ended(task));  // refuses an empty ticket
  return detail::task_sender{detail::submitted{std::move(task)}};
}

/// Returns a lazy sender: `start` submits the task, and the operation then completes as that of
/// as_sender. If a stop was requested before `start`, nothing is submitted. If `submit` throws, the
/// operation completes with this error, inside `start`.
///
///     auto step = flotilla::submit_sender(rt, kernel.over(n)(x, n), {.label = "step"});
///     stdexec::sync_wait(stdexec::when_all(step, flotilla::submit_sender(rt, y.fill(0))));
///
/// @param what     A launch, a memory_op, or a callable of type void(task_context&). It is copied
///                 or moved into the sender.
/// @param options  As for `submit`. The sender copies the options, but not the text of `label`.
/// Threads   any.
/// Blocks    `start` blocks as runtime::submit does: only while the window of the device is full.
/// Lifetime  The runtime and the text of `label` must exist until `start` has returned. If `what`
///           can be copied, so can the sender, and each connected copy submits a task of its own.
/// Cost      as runtime::submit and as_sender.
template <class Work>
requires requires(runtime& rt, std::decay_t<Work> what, task_options const& options) {
  { rt.submit(std::move(what), options) } -> std::same_as<ticket>;
}
[[nodiscard]] detail::task_sender<detail::submission<std::decay_t<Work>>> submit_sender(
    runtime& rt, Work&& what, task_options options = {}) {
  return detail::task_sender{
      detail::submission<std::decay_t<Work>>{&rt, std::forward<Work>(what), std::move(options)}};
}

}  // namespace v0_1
}  // namespace flotilla

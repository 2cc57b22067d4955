// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <thread>

#include <flotilla/error/error.hpp>

namespace flotilla::python {

bool interruptible_call::must_end(void* self) noexcept {
  auto& call = *static_cast<interruptible_call*>(self);
  if (call.raised_) { return true; }
  if (call.give_up_ && clock::now() >= *call.give_up_) { return true; }
  nb::gil_scoped_acquire const gil;
  // A handler may destroy objects, and destructors must not throw.
  detail::interruptible_waits const never{nullptr, nullptr};
  if (PyErr_CheckSignals() == 0) { return false; }
  call.raised_.emplace();
  if (call.was_interrupted_ != nullptr) { *call.was_interrupted_ = true; }
  return true;
}

interruptible_call*& interruptible_call::innermost() noexcept {
  thread_local interruptible_call* current = nullptr;
  return current;
}

void interruptible_call::raise_in_this_thread() {
  if (innermost() != nullptr) { innermost()->raise(); }
}

void interruptible_call::raise() {
  if (!raised_) { return; }
  nb::python_error const taken = *std::exchange(raised_, std::nullopt);
  throw taken;
}

void interruptible_call::sleep() {
  {
    nb::gil_scoped_release const released;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  run_signal_handlers();
  if (give_up_ && clock::now() >= *give_up_) { throw error("the wait was interrupted"); }
}

bool wait_in_destructor(std::function<void()> const& wait) noexcept {
  nb::error_scope const outer;  // the destructor may run while an exception is raised
  try {
    interruptible_call{}.run(wait);
  } catch (nb::python_error& raised) {
    if (raised.matches(PyExc_KeyboardInterrupt)) {
      PyErr_SetInterrupt();
    } else {
      raised.discard_as_unraisable("a wait in a destructor");
    }
    return false;
  } catch (std::exception const&) {  // inside a function of a task: the library reports it
  }
  return true;
}

void run_signal_handlers() {
  if (PyErr_CheckSignals() != 0) { throw nb::python_error(); }
}

}  // namespace flotilla::python

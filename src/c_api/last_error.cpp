// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/last_error.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include <flotilla/detail/last_error.hpp>
#include <flotilla/error/compile_error.hpp>
#include <flotilla/error/error.hpp>

#include "c_api/call.hpp"

namespace flotilla::c_api {

namespace {

/// The last error of a thread. It needs no destructor, because functions that run at the end of a
/// thread may still call the C interface.
struct stored_error {
  static constexpr std::size_t max_text = 4096;
  flotilla_error_details details;
  char text[max_text];

  void store(described_error const& error) noexcept {
    details = error.details;
    std::size_t const length = std::min(error.text.size(), max_text - 1);
    error.text.copy(text, length);
    text[length] = '\0';
  }
};

stored_error& last_error() noexcept {
  static thread_local stored_error last = {FLOTILLA_ERROR_DETAILS_INIT, {}};
  return last;
}

void set_driver_status(flotilla_error_details& to, flotilla_status status,
                       driver_status from) noexcept {
  to.status = status;
  to.driver_status = static_cast<int>(from);
}

void classify(std::exception_ptr const& why, flotilla_error_details& to);

/// Stores what an exception that has a cause takes from its cause.
void take_from(std::exception_ptr const& cause, flotilla_error_details& to) {
  if (cause == nullptr) { return; }
  flotilla_error_details found = FLOTILLA_ERROR_DETAILS_INIT;
  classify(cause, found);
  to.cause = found.status;
  to.first_cause = found.first_cause == FLOTILLA_SUCCESS ? found.status : found.first_cause;
  to.code = found.code;
}

/// Stores the status of an exception, and what only some types of exceptions have.
void classify(std::exception_ptr const& why, flotilla_error_details& to) {
  try {
    std::rethrow_exception(why);
  } catch (refused_call const& e) { to.status = e.status(); } catch (driver_error const& e) {
    set_driver_status(to, FLOTILLA_DRIVER_ERROR, e.status());
  } catch (poisoned const& e) {
    set_driver_status(to, FLOTILLA_POISONED, e.status());
  } catch (device_fault const& e) {
    set_driver_status(to, FLOTILLA_DEVICE_FAULT, e.status());
    to.code = e.may_have_run() ? 1 : 0;
  } catch (remote_error const& e) {
    to.status = FLOTILLA_REMOTE_ERROR;
    to.code = e.rank();
  } catch (rank_failed const& e) {
    to.status = FLOTILLA_RANK_FAILED;
    to.code = e.rank();
  } catch (dependency_failed const& e) {
    to.status = FLOTILLA_DEPENDENCY_FAILED;
    take_from(e.cause(), to);
  } catch (bulk_error const& e) {
    to.status = FLOTILLA_BULK_FAILED;
    take_from(e.cause(), to);
    to.item = e.index();
  } catch (task_failed const& e) {
    to.status = FLOTILLA_TASK_FAILED;
    to.code = e.code();
  } catch (no_device const&) { to.status = FLOTILLA_NO_DEVICE; } catch (unknown_device const&) {
    to.status = FLOTILLA_UNKNOWN_DEVICE;
  } catch (unknown_symbol const&) {
    to.status = FLOTILLA_UNKNOWN_SYMBOL;
  } catch (unknown_setting const&) {
    to.status = FLOTILLA_UNKNOWN_SETTING;
  } catch (wrong_runtime const&) {
    to.status = FLOTILLA_WRONG_RUNTIME;
  } catch (invalid_argument const&) {  // the base of the four before
    to.status = FLOTILLA_INVALID_ARGUMENT;
  } catch (bad_image const&) { to.status = FLOTILLA_BAD_IMAGE; } catch (gpu_only_kernel const&) {
    to.status = FLOTILLA_GPU_ONLY_KERNEL;
  } catch (compile_error const&) {
    to.status = FLOTILLA_COMPILE_ERROR;
  } catch (no_compiler const&) {
    to.status = FLOTILLA_NO_COMPILER;
  } catch (missing_dependency const&) {
    to.status = FLOTILLA_MISSING_DEPENDENCY;
  } catch (runtime_closed const&) {
    to.status = FLOTILLA_RUNTIME_CLOSED;
  } catch (window_full const&) { to.status = FLOTILLA_WINDOW_FULL; } catch (would_deadlock const&) {
    to.status = FLOTILLA_WOULD_DEADLOCK;
  } catch (task_cancelled const&) {
    to.status = FLOTILLA_TASK_CANCELLED;
  } catch (timed_out const&) { to.status = FLOTILLA_TIMED_OUT; } catch (used_after_fork const&) {
    to.status = FLOTILLA_USED_AFTER_FORK;
  } catch (trace_failed const&) {
    to.status = FLOTILLA_TRACE_FAILED;
  } catch (std::bad_alloc const&) { to.status = FLOTILLA_OUT_OF_MEMORY; } catch (...) {
    to.status = FLOTILLA_OTHER_ERROR;
  }
}

std::string text_of(std::exception_ptr const& why) {
  try {
    std::rethrow_exception(why);
  } catch (std::exception const& e) { return e.what(); } catch (...) {
    return "an exception that is not derived from std::exception";
  }
}

}  // namespace

described_error describe(std::exception_ptr const& why) noexcept {
  described_error made;
  try {
    classify(why, made.details);
    made.text = text_of(why);
  } catch (...) {  // no memory for the text
    if (made.details.status == FLOTILLA_SUCCESS) { made.details.status = FLOTILLA_OUT_OF_MEMORY; }
  }
  return made;
}

flotilla_status store_error(char const* function, std::exception_ptr const& why) noexcept {
  described_error made = describe(why);
  try {
    std::rethrow_exception(why);
  } catch (refused_call const&) {
    try {
      made.text.insert(0, std::string{function} + ": ");
    } catch (...) { made.text.clear(); }
  } catch (...) {  // the text of other errors names the object of the call
  }
  last_error().store(made);
  return last_error().details.status;
}

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla::detail::store_last_error(std::exception_ptr const& why) noexcept {
  return store_error("", why);
}

char const* flotilla_last_error() {
  stored_error const& last = last_error();
  bool const lost = last.text[0] == '\0' && last.details.status != FLOTILLA_SUCCESS;
  return lost ? "there was no memory for the text of the error" : last.text;
}

flotilla_status flotilla_last_error_details(flotilla_error_details* details) {
  if (details == nullptr || details->size < sizeof *details) { return FLOTILLA_INVALID_ARGUMENT; }
  std::size_t const size = details->size;
  *details = last_error().details;
  details->size = size;
  return FLOTILLA_SUCCESS;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/error/compile_error.hpp>
#include <flotilla/error/error.hpp>

#include <utility>

#include "base/driver_notes.hpp"

namespace flotilla {
inline namespace v0_1 {

// The destructors are defined here, so that only this library contains the vtables and the type
// information of the exceptions. Otherwise another shared object might have its own copy of the
// type information, and could then not catch the exceptions.
error::~error() = default;
driver_error::~driver_error() = default;
no_device::~no_device() = default;
invalid_argument::~invalid_argument() = default;
unknown_device::~unknown_device() = default;
unknown_symbol::~unknown_symbol() = default;
gpu_only_kernel::~gpu_only_kernel() = default;
unknown_setting::~unknown_setting() = default;
bad_image::~bad_image() = default;
wrong_runtime::~wrong_runtime() = default;
missing_dependency::~missing_dependency() = default;
runtime_closed::~runtime_closed() = default;
window_full::~window_full() = default;
would_deadlock::~would_deadlock() = default;
dependency_failed::~dependency_failed() = default;
bulk_error::~bulk_error() = default;
task_cancelled::~task_cancelled() = default;
timed_out::~timed_out() = default;
task_failed::~task_failed() = default;
poisoned::~poisoned() = default;
device_fault::~device_fault() = default;
used_after_fork::~used_after_fork() = default;
trace_failed::~trace_failed() = default;
compile_error::~compile_error() = default;
no_compiler::~no_compiler() = default;

driver_error::driver_error(driver_status status, std::string call, std::string subject)
    : error(call + " failed on " + subject + ": " + to_string(status) + " (" +
            std::to_string(static_cast<int>(status)) + ")" +
            base::take_driver_notes(static_cast<int>(status))),
      status_(status),
      call_(std::move(call)),
      subject_(std::move(subject)) {}

remote_error::remote_error(int rank, std::string const& what) : error(what), rank_(rank) {}
remote_error::~remote_error() = default;

rank_failed::rank_failed(int rank, std::string const& what) : error(what), rank_(rank) {}
rank_failed::~rank_failed() = default;

dependency_failed::dependency_failed(std::string const& what, std::exception_ptr cause)
    : error(what), cause_(std::move(cause)) {}

namespace {

/// Returns the cause of a dependency_failed, directly or in a bulk_error. Null for other errors.
std::exception_ptr cause_of(std::exception_ptr const& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (dependency_failed const& found) {
    return found.cause();
  } catch (bulk_error const& found) {
    return found.cause() == nullptr ? nullptr : cause_of(found.cause());
  } catch (...) { return nullptr; }
}

}  // namespace

std::exception_ptr dependency_failed::first_cause() const noexcept {
  std::exception_ptr first = cause_;
  while (first != nullptr) {
    std::exception_ptr const before = cause_of(first);
    if (before == nullptr) { break; }
    first = before;
  }
  return first;
}

bulk_error::bulk_error(std::size_t index, std::size_t count, std::string const& why,
                       std::exception_ptr cause)
    : error("item " + std::to_string(index) + " of " + std::to_string(count) + ": " + why),
      index_(index),
      count_(count),
      cause_(std::move(cause)) {}

task_failed::task_failed(int code, std::string const& what) : error(what), code_(code) {}

poisoned::poisoned(driver_status status, std::string const& what) : error(what), status_(status) {}

compile_error::compile_error(std::string source, std::size_t line, std::string log,
                             std::string const& what)
    : error(what), source_(std::move(source)), line_(line), log_(std::move(log)) {}

device_fault::device_fault(driver_status status, device_ordinal device, std::string suspects,
                           bool may_have_run, std::string const& what)
    : error(what),
      status_(status),
      device_(device),
      suspects_(std::move(suspects)),
      may_have_run_(may_have_run) {}

}  // namespace v0_1
}  // namespace flotilla

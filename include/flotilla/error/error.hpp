// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The exceptions of flotilla: one type for each cause. A message names the failed call, its object
/// and the reason.

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/error/driver_status.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The base class of all exceptions of flotilla.
class FLOTILLA_EXPORT error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~error() override;
};

/// A driver call failed. An example of `what()`:
/// "cuMemAlloc failed on device 1 (…): CUDA_ERROR_OUT_OF_MEMORY (2)".
class FLOTILLA_EXPORT driver_error : public error {
 public:
  /// @param call     The entry point, such as "cuMemAlloc".
  /// @param subject  The object of the call in words, such as "device 1" or
  ///                 "kernel 'saxpy', label 'step 3', device 1".
  driver_error(driver_status status, std::string call, std::string subject);
  ~driver_error() override;
  [[nodiscard]] driver_status status() const noexcept { return status_; }
  [[nodiscard]] std::string const& call() const noexcept { return call_; }
  [[nodiscard]] std::string const& subject() const noexcept { return subject_; }

 private:
  driver_status status_;
  std::string call_;
  std::string subject_;
};

/// There is no driver or no device. The message names the missing driver or device and the reason.
class FLOTILLA_EXPORT no_device : public error {
 public:
  using error::error;
  ~no_device() override;
};

/// An argument is invalid, such as an empty grid or a null callable.
class FLOTILLA_EXPORT invalid_argument : public error {
 public:
  using error::error;
  ~invalid_argument() override;
};

/// A device does not exist, or a device specification selects no device.
class FLOTILLA_EXPORT unknown_device : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~unknown_device() override;
};

/// The image has no kernel or global variable of this name.
class FLOTILLA_EXPORT unknown_symbol : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~unknown_symbol() override;
};

/// The kernel is only for GPUs (option GPU_ONLY of flotilla_add_kernels), but the runtime has CPU
/// devices.
class FLOTILLA_EXPORT gpu_only_kernel : public error {
 public:
  using error::error;
  ~gpu_only_kernel() override;
};

/// A setting does not exist, or its value is not allowed.
class FLOTILLA_EXPORT unknown_setting : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~unknown_setting() override;
};

/// An image or module file cannot be read or has the wrong format.
class FLOTILLA_EXPORT bad_image : public error {
 public:
  using error::error;
  ~bad_image() override;
};

/// A ticket, buffer or kernel belongs to another runtime.
class FLOTILLA_EXPORT wrong_runtime : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~wrong_runtime() override;
};

/// A runtime that checks the order of tasks has found two tasks that use the same memory without an
/// order (see checks::order). The message names both tasks, the memory and the missing entry of
/// `after`. The failed call submitted nothing.
class FLOTILLA_EXPORT missing_dependency : public error {
 public:
  using error::error;
  ~missing_dependency() override;
};

/// The runtime was closed. The failed call submitted nothing.
class FLOTILLA_EXPORT runtime_closed : public error {
 public:
  using error::error;
  ~runtime_closed() override;
};

/// The window of a device is full, and the caller must not wait, because the caller is inside a
/// callable. The failed call submitted nothing.
class FLOTILLA_EXPORT window_full : public error {
 public:
  using error::error;
  ~window_full() override;
};

/// The caller is inside a callable, a host task or a continuation, where this wait could block
/// forever.
class FLOTILLA_EXPORT would_deadlock : public error {
 public:
  using error::error;
  ~would_deadlock() override;
};

/// A task did not run because one of its predecessors failed. `what()` ends with the error of the
/// task that failed first.
class FLOTILLA_EXPORT dependency_failed : public error {
 public:
  /// @param cause  The error of the predecessor.
  dependency_failed(std::string const& what, std::exception_ptr cause);
  ~dependency_failed() override;
  /// Returns the error of the predecessor. This error can be a dependency_failed too. In a chain of
  /// more than 64 failures, some tasks have the error of the task that failed first instead.
  [[nodiscard]] std::exception_ptr cause() const noexcept { return cause_; }
  /// Returns the error of the task that failed first: follows `cause` until an error is no
  /// dependency_failed, and no bulk_error of an item that did not run for this reason. Cost: throws
  /// and catches each error on the way.
  [[nodiscard]] std::exception_ptr first_cause() const noexcept;

 private:
  std::exception_ptr cause_;
};

/// A task on another rank failed, so the data that it should have written do not exist here (see
/// flotilla::cluster). It is the cause of a dependency_failed. `what()` begins with the rank.
class FLOTILLA_EXPORT remote_error : public error {
 public:
  remote_error(int rank, std::string const& what);
  ~remote_error() override;
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

/// A rank of a cluster has failed, has ended too early, or runs another program than this one (see
/// flotilla::cluster). Flows over ranks can run no more tasks. `what()` says why.
class FLOTILLA_EXPORT rank_failed : public error {
 public:
  rank_failed(int rank, std::string const& what);
  ~rank_failed() override;
  /// Returns the rank that has failed, or the one that has noticed it.
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

/// An item of a bulk failed, or was refused by the submit of the bulk. `what()` begins with the
/// index of the item, such as "item 17 of 1000: ", and ends with the text of the item's error.
class FLOTILLA_EXPORT bulk_error : public error {
 public:
  /// @param index  The index of the item, beginning with 0.
  /// @param count  The number of items of the bulk.
  /// @param why    The text of `cause`.
  /// @param cause  The error of the item.
  bulk_error(std::size_t index, std::size_t count, std::string const& why,
             std::exception_ptr cause);
  ~bulk_error() override;
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Returns the error of the item: what the ticket of a single task would throw, or `submit`.
  [[nodiscard]] std::exception_ptr cause() const noexcept { return cause_; }

 private:
  std::size_t index_;
  std::size_t count_;
  std::exception_ptr cause_;
};

/// The task was cancelled before it was launched (see ticket::cancel and task_options::stop), so it
/// did not run. The message names the task.
class FLOTILLA_EXPORT task_cancelled : public error {
 public:
  using error::error;
  ~task_cancelled() override;
};

/// The deadline of the task passed before the task began (see task_options::deadline), so it did
/// not run. The message names the task.
class FLOTILLA_EXPORT timed_out : public error {
 public:
  using error::error;
  ~timed_out() override;
};

/// A kernel reported that its task has failed (see flotilla::fail in kernel_language/fail.hpp). The
/// message names the device, the kernel, the label and the code. Other tasks are not affected,
/// except the tasks that have this task in `after`: they fail with dependency_failed.
class FLOTILLA_EXPORT task_failed : public error {
 public:
  task_failed(int code, std::string const& what);
  ~task_failed() override;
  /// Returns the code that the kernel passed to `flotilla::fail`.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The runtime can run no more tasks. The message says why and names the status:
/// - A kernel faulted, and the driver is unusable in this process (see is_sticky). Only a new
///   process can use the driver again. The message names the device and the suspected tasks.
/// - The process is ending, and the driver has shut down.
/// - driver_status::out_of_memory: host memory ran out while tasks were launched. Kernels and
///   copies that were launched before may still run until the runtime is destroyed. Another runtime
///   can be created.
class FLOTILLA_EXPORT poisoned : public error {
 public:
  poisoned(driver_status status, std::string const& what);
  ~poisoned() override;
  [[nodiscard]] driver_status status() const noexcept { return status_; }

 private:
  driver_status status_;
};

/// An isolated device was lost: a kernel faulted, its worker process ended, or it was stuck. The
/// device goes on in another worker process, and other devices have lost nothing. This is the error
/// of each task that may have been running (see task_options::repeatable), and of each task that
/// cannot run any more because the device is quarantined (see runtime_options::restart). The
/// message names the device, the reason, and the suspected tasks.
class FLOTILLA_EXPORT device_fault : public error {
 public:
  /// @param suspects  The tasks that may have caused the loss, as text.
  device_fault(driver_status status, device_ordinal device, std::string suspects, bool may_have_run,
               std::string const& what);
  ~device_fault() override;
  /// Returns the status of the fault, such as driver_status::illegal_address.
  [[nodiscard]] driver_status status() const noexcept { return status_; }
  [[nodiscard]] device_ordinal device() const noexcept { return device_; }
  [[nodiscard]] std::string const& suspects() const noexcept { return suspects_; }
  /// Returns whether the task may have run, wholly or in part. If so, what it could write is
  /// undefined. If not, it did not begin, and the program can submit it again. If the task is a
  /// replay of several graphs, this is about its last graph only: other graphs may have run.
  [[nodiscard]] bool may_have_run() const noexcept { return may_have_run_; }

 private:
  driver_status status_;
  device_ordinal device_;
  std::string suspects_;
  bool may_have_run_;
};

/// A child of fork() used a runtime that its parent had made. CUDA does not work in such a child.
/// Make the runtime after fork().
class FLOTILLA_EXPORT used_after_fork : public error {
 public:
  using error::error;
  ~used_after_fork() override;
};

/// A trace cannot begin, or its file cannot be written. The message names the file.
class FLOTILLA_EXPORT trace_failed : public error {
 public:
  using error::error;
  ~trace_failed() override;
};

}  // namespace v0_1
}  // namespace flotilla

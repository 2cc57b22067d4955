#pragma once
/// What can go wrong, one type a cause. Every message names the call, the object and the meaning.

#include <stdexcept>
#include <string>

#include <flotilla/driver_status.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

/// The base of everything that flotilla throws on purpose.
class FLOTILLA_EXPORT error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~error() override;
};

/// A driver call failed. `what()` reads "cuMemAlloc failed on device 1 (…): CUDA_ERROR_OUT_OF_MEMORY (2)".
class FLOTILLA_EXPORT driver_error : public error {
 public:
  /// @param call     The entry point, as "cuMemAlloc".
  /// @param subject  The object in words: "device 1", "kernel 'saxpy', label 'step 3', device 1".
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

/// No driver or no device can be had; says which was looked for and why not.
class FLOTILLA_EXPORT no_device : public error {
 public:
  using error::error;
  ~no_device() override;
};

/// A value that no call could accept: zero grid, null callable, arguments that do not fit.
class FLOTILLA_EXPORT invalid_argument : public error {
 public:
  using error::error;
  ~invalid_argument() override;
};

/// A device, or a device specification, that names nothing there is.
class FLOTILLA_EXPORT unknown_device : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~unknown_device() override;
};

/// A kernel or global that the image does not have.
class FLOTILLA_EXPORT unknown_kernel : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~unknown_kernel() override;
};

/// A settings key that does not exist, or a value it cannot take.
class FLOTILLA_EXPORT unknown_setting : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~unknown_setting() override;
};

/// An image or module file that cannot be read or is not one.
class FLOTILLA_EXPORT bad_image : public error {
 public:
  using error::error;
  ~bad_image() override;
};

/// A ticket, buffer or kernel of another runtime.
class FLOTILLA_EXPORT wrong_runtime : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
  ~wrong_runtime() override;
};

/// The runtime was closed; nothing was queued.
class FLOTILLA_EXPORT runtime_closed : public error {
 public:
  using error::error;
  ~runtime_closed() override;
};

/// The window of a device is full, and this call may not wait for it. Nothing was queued.
class FLOTILLA_EXPORT queue_full : public error {
 public:
  using error::error;
  ~queue_full() override;
};

/// A wait that only the waiting thread itself could end.
class FLOTILLA_EXPORT would_deadlock : public error {
 public:
  using error::error;
  ~would_deadlock() override;
};

/// A task that this one was to run after has failed; `what()` ends with the first cause.
class FLOTILLA_EXPORT dependency_failed : public error {
 public:
  using error::error;
  ~dependency_failed() override;
};

/// A kernel faulted, and the driver of this process is unusable (see is_sticky). The message names the
/// status, the device and the suspects. Going on needs another process.
class FLOTILLA_EXPORT poisoned : public error {
 public:
  poisoned(driver_status status, std::string const& what);
  ~poisoned() override;
  [[nodiscard]] driver_status status() const noexcept { return status_; }

 private:
  driver_status status_;
};

/// A runtime was used in a child of fork(). CUDA cannot be used there; make the runtime after fork().
class FLOTILLA_EXPORT used_after_fork : public error {
 public:
  using error::error;
  ~used_after_fork() override;
};

}  // namespace flotilla

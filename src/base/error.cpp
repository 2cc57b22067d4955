#include <flotilla/error.hpp>

namespace flotilla {

// The destructors stand here so that each type has one home, and is caught across shared objects.
error::~error() = default;
driver_error::~driver_error() = default;
no_device::~no_device() = default;
invalid_argument::~invalid_argument() = default;
unknown_device::~unknown_device() = default;
unknown_kernel::~unknown_kernel() = default;
unknown_setting::~unknown_setting() = default;
bad_image::~bad_image() = default;
wrong_runtime::~wrong_runtime() = default;
runtime_closed::~runtime_closed() = default;
queue_full::~queue_full() = default;
would_deadlock::~would_deadlock() = default;
dependency_failed::~dependency_failed() = default;
poisoned::~poisoned() = default;
used_after_fork::~used_after_fork() = default;

driver_error::driver_error(driver_status status, std::string call, std::string subject)
    : error(call + " failed on " + subject + ": " + to_string(status) + " (" +
            std::to_string(static_cast<int>(status)) + ")"),
      status_(status), call_(std::move(call)), subject_(std::move(subject)) {}

poisoned::poisoned(driver_status status, std::string const& what) : error(what), status_(status) {}

}  // namespace flotilla

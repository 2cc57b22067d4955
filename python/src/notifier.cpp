// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Tells an event loop of Python that tasks have ended. No thread of the runtime takes the GIL for
// it, and no thread waits for a task.
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "ticket.hpp"

namespace flotilla::python {

namespace {

/// The numbers of tasks that have ended, and a descriptor that is readable while there are some.
class ended_tasks {
 public:
  ended_tasks() : descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (descriptor_ < 0) { throw std::system_error(errno, std::generic_category(), "eventfd"); }
  }
  ended_tasks(ended_tasks const&) = delete;
  ended_tasks& operator=(ended_tasks const&) = delete;
  ~ended_tasks() { ::close(descriptor_); }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void add(std::uint64_t number) {
    std::lock_guard const lock(mutex_);
    numbers_.push_back(number);
    if (numbers_.size() == 1) { static_cast<void>(::eventfd_write(descriptor_, 1)); }
  }
  [[nodiscard]] std::vector<std::uint64_t> take() {
    std::lock_guard const lock(mutex_);
    eventfd_t any = 0;
    static_cast<void>(::eventfd_read(descriptor_, &any));
    return std::exchange(numbers_, {});
  }

 private:
  int const descriptor_;
  std::mutex mutex_;
  std::vector<std::uint64_t> numbers_;  // mutex_ guards it
};

struct notifier {
  std::shared_ptr<ended_tasks> ended = std::make_shared<ended_tasks>();
};

}  // namespace

void bind_notifier(nb::module_& to) {
  nb::class_<notifier>(to, "Notifier", "For flotilla's own use.")
      .def(nb::init<>())
      .def("fileno", [](notifier const& n) { return n.ended->descriptor(); })
      .def(
          "watch",
          [](notifier const& n, py_ticket const& task, std::uint64_t number) {
            task.task().then([ended = n.ended, number](std::exception_ptr const& /*why*/) {
              ended->add(number);
            });
          },
          nb::arg("task"), nb::arg("number"))
      .def("take", [](notifier const& n) { return n.ended->take(); });
}

}  // namespace flotilla::python

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The class Recording.
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/task/recording.hpp>

#include "errors.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

/// A recording, and the objects whose memory its tasks use.
/// Threads: the caller of each function must hold the GIL.
class py_recording final : public owned_part {
 public:
  explicit py_recording(core_ptr owner) : owner_{std::move(owner)} {
    held_.emplace(owner_->usable());
    owner_->add(*this);
  }
  py_recording(py_recording const&) = delete;
  py_recording& operator=(py_recording const&) = delete;
  ~py_recording() override {
    held_.reset();
    owner_->remove(*this);
  }
  bool free() noexcept override {
    held_.reset();
    return true;
  }

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

 private:
  template <class F>
  auto visit(nb::handle what, F const& function) {
    if (py_launch const* const given = found<py_launch>(what)) {
      check_owner(given->owner);
      return function(given->what);
    }
    py_memory_op const* const given = found<py_memory_op>(what);
    if (given == nullptr) {
      throw invalid_argument("a recording has launches, copies and fills, but got a " +
                             type_of(what));
    }
    check_owner(given->owner);
    return function(given->what);
  }

 public:
  std::size_t add(nb::handle what, nb::handle after, nb::handle device) {
    recorded_options const options{device_of(device), predecessors(after)};
    recorded_task const made =
        visit(what, [&](auto const& task) { return usable().add(task, options); });
    tasks_.push_back(made);
    kept_.push_back(kept_by(what));
    is_changed_ = true;
    return tasks_.size() - 1;
  }
  void set(std::size_t task, nb::handle what) {
    recorded_task const which = task_at(task);
    visit(what, [&](auto const& with) {
      usable().set(which, with);
      return 0;
    });
    kept_[task] = kept_by(what);
    is_changed_ = true;
  }
  void finish() {
    recording& all = usable();
    owner_->without_gil([&] { all.finish(); });
  }
  py_ticket replay(nb::handle after, nb::handle label, int priority, nb::handle timeout) {
    given_options const given{after, nb::none(), nb::none(), label, true, priority, timeout};
    converted_options const converted{given};
    replay_options const options{converted.get().after, converted.get().label, priority,
                                 converted.get().deadline};
    recording& all = usable();
    if (is_changed_) {
      // Earlier replays keep the objects of their own list.
      foreign_ = nb::list();
      for (nb::object const& each : kept_) { nb::borrow<nb::list>(foreign_).append(each); }
      is_changed_ = false;
    }
    nb::object const foreign = foreign_;
    ticket made = owner_->without_gil([&] { return all.replay(options); });
    return {owner_, std::move(made), foreign};
  }

 private:
  [[nodiscard]] recording& usable() {
    static_cast<void>(owner_->usable());
    return *held_;
  }
  [[nodiscard]] recorded_task task_at(std::size_t index) const {
    if (index >= tasks_.size()) {
      throw invalid_argument("the recording has " + std::to_string(tasks_.size()) +
                             " tasks, so there is none with the number " + std::to_string(index));
    }
    return tasks_[index];
  }
  [[nodiscard]] dependency_list predecessors(nb::handle after) const {
    dependency_list made;
    auto const add = [&](nb::handle each) {
      std::size_t index = 0;
      if (!nb::try_cast(each, index, false)) {
        PyErr_Clear();
        throw invalid_argument("after needs numbers of tasks of the recording, but got a " +
                               type_of(each));
      }
      made.add(task_at(index));
    };
    if (after.is_none()) { return made; }
    if (nb::isinstance<nb::tuple>(after) || nb::isinstance<nb::list>(after)) {
      for (nb::handle const each : after) { add(each); }
    } else {
      add(after);
    }
    return made;
  }
  void check_owner(core_ptr const& other) const {
    if (other != owner_) { throw wrong_runtime("the task belongs to another runtime"); }
  }
  [[nodiscard]] static nb::object kept_by(nb::handle what) {
    py_launch const* const launched = found<py_launch>(what);
    return launched != nullptr ? launched->kept : nb::cast<py_memory_op const&>(what).kept;
  }

  core_ptr const owner_;
  std::optional<recording> held_;     // empty after the end of the runtime
  std::vector<recorded_task> tasks_;  // by number
  std::vector<nb::object> kept_;      // of each task: buffers and arrays
  nb::object foreign_ = nb::none();   // what a replay keeps
  bool is_changed_ = true;            // whether foreign_ is out of date
};

}  // namespace

void bind_recordings(nb::module_& to) {
  nb::class_<py_recording>(
      to, "Recording",
      "Launches, fills and copies that are described once and replayed. Its tasks "
      "are numbered from 0. The recording keeps the buffers of its tasks.")
      .def(
          "__init__",
          [](py_recording* self, py_runtime const& runtime) {
            new (self) py_recording{runtime.core};
          },
          nb::arg("runtime"))
      .def("__len__", &py_recording::size)
      .def("add", &py_recording::add, nb::arg("what"), nb::kw_only(), nb::arg("after") = nb::none(),
           nb::arg("device") = nb::none(),
           "Adds a task, and returns its number. `after` has the numbers of its predecessors.")
      .def("set", &py_recording::set, nb::arg("task"), nb::arg("what"),
           "Replaces a task for all later replays.")
      .def("finish", &py_recording::finish,
           "Makes the graphs. Without this call, the first replay makes them.")
      .def("replay", &py_recording::replay, nb::kw_only(), nb::arg("after") = nb::none(),
           nb::arg("label") = nb::none(), nb::arg("priority") = 0, nb::arg("timeout") = nb::none(),
           "Submits all tasks, and returns one ticket for them.");
}

}  // namespace flotilla::python

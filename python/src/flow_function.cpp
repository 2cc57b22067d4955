// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flow_function.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "errors.hpp"
#include "function.hpp"

namespace flotilla::python {

namespace {

/// Where data are on a device. It is of use only until the function of the task returns.
struct py_data_view {
  bool is_valid = true;
  held_data::layout objects;
  std::vector<std::size_t> strides;
  std::uintptr_t address = 0;
  std::uintptr_t stream = 0;
  bool is_read_only = false;
  bool is_on_gpu = false;

  [[nodiscard]] py_data_view const& checked() const {
    if (!is_valid) {
      throw invalid_handle("the function of the task has returned, so its DataView is of no use");
    }
    return *this;
  }
};

nb::tuple tuple_of(std::vector<std::size_t> const& sizes) {
  nb::list made;
  for (std::size_t const each : sizes) { made.append(each); }
  return nb::tuple(made);
}

nb::dict cuda_interface(py_data_view const& view) {
  py_data_view const& of = view.checked();
  if (!of.is_on_gpu) {
    throw nb::attribute_error(
        "the data are not in the memory of a GPU, so they have no __cuda_array_interface__");
  }
  element_type const& element = of.objects.element;
  nb::dict made;
  made["shape"] = tuple_of(of.objects.extents);
  made["typestr"] = (element.bytes == 1 ? "|" : "<") + std::string{element.letter()} +
                    std::to_string(element.bytes);
  made["data"] = nb::make_tuple(of.address, of.is_read_only);
  made["strides"] = tuple_of(of.strides);
  made["stream"] = of.stream;  // the consumer must order its work behind this stream
  made["version"] = 3;
  return made;
}

/// Ends views at the end of the block.
class view_scope {
 public:
  view_scope() = default;
  view_scope(view_scope const&) = delete;
  view_scope& operator=(view_scope const&) = delete;
  ~view_scope() {
    for (nb::object const& each : views_) { nb::inst_ptr<py_data_view>(each)->is_valid = false; }
  }
  nb::object add(py_data_view view) { return views_.emplace_back(nb::cast(std::move(view))); }

 private:
  std::vector<nb::object> views_;
};

}  // namespace

data_function::data_function(nb::handle owner, nb::handle function)
    : owner_{owner.ptr()}, function_{function.ptr()} {}

void data_function::add(py_use const& use) {
  uses_.push_back({use.data->objects(), use.mode == detail::access_mode::read});
}

void data_function::call_on_host() {
  check_interpreter();
  nb::gil_scoped_acquire const gil;
  // The arrays share the owner of the memory, so the flag tells whether one of them still exists.
  auto const lent = std::make_shared<bool>();
  {
    nb::capsule const memory(new std::shared_ptr<bool>(lent), [](void* all) noexcept {
      delete static_cast<std::shared_ptr<bool>*>(all);
    });
    nb::list arguments;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].objects.is_token()) { continue; }
      arguments.append(array_at(uses_[i].objects, places_[i], uses_[i].is_read_only, memory));
    }
    call_function(function_.get(), std::move(arguments));
  }
  if (lent.use_count() != 1) {
    throw invalid_argument(
        "the function of a host task keeps an array of its data, whose memory it must not use "
        "after it has returned; keep a copy, as in array.copy()");
  }
}

void data_function::call(task_context& task) {
  check_interpreter();
  nb::gil_scoped_acquire const gil;
  view_scope scope;
  nb::list views;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    used const& each = uses_[i];
    if (each.objects.is_token()) { continue; }
    if (!task.has_stream()) {
      throw invalid_argument(
          "device " + std::to_string(task.device().ordinal.value) +
          " is isolated, so a function cannot use data in its memory; use a kernel or host data");
    }
    views.append(scope.add({true, each.objects, strides_of(each.objects, places_[i]),
                            reinterpret_cast<std::uintptr_t>(places_[i].address), stream_of(task),
                            each.is_read_only, task.device().kind == device_kind::gpu}));
  }
  call_with_context(function_.get(), task, views);
}

void bind_data_views(nb::module_& to) {
  nb::class_<py_data_view>(
      to, "DataView",
      "Where the data of a task are on its device, until the function returns. Use the memory only "
      "in work that you enqueue into the stream of the task.")
      .def_prop_ro(
          "shape", [](py_data_view const& v) { return tuple_of(v.checked().objects.extents); },
          nb::for_getter(nb::sig("def shape(self, /) -> tuple[int, ...]")))
      .def_prop_ro(
          "strides", [](py_data_view const& v) { return tuple_of(v.checked().strides); },
          nb::for_getter(nb::sig("def strides(self, /) -> tuple[int, ...]")),
          "The bytes from an item to the next, in each dimension.")
      .def_prop_ro("dtype",
                   [](py_data_view const& v) { return v.checked().objects.element.name(); })
      .def_prop_ro(
          "address", [](py_data_view const& v) { return v.checked().address; },
          "The address of the first element.")
      .def_prop_ro("is_read_only", [](py_data_view const& v) { return v.checked().is_read_only; })
      .def_prop_ro("__cuda_array_interface__", cuda_interface);
}

}  // namespace flotilla::python

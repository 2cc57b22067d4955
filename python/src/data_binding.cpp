// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The Python classes Data, HostView and Use, and the functions that make uses.
#include <nanobind/stl/string.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "data.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

using access = detail::access_mode;

/// The objects of data on the host, for the program, from `enter` to `exit`.
/// Threads: the caller of each function must hold the GIL.
class py_host_view {
 public:
  py_host_view(std::shared_ptr<held_data> data, bool change) noexcept
      : data_{std::move(data)}, change_{change} {}
  py_host_view(py_host_view const&) = delete;
  py_host_view& operator=(py_host_view const&) = delete;
  ~py_host_view() { exit(); }

  /// Waits until the copy on the host is valid. @return a NumPy array that views it
  [[nodiscard]] nb::object enter() {
    if (is_open_) { throw invalid_argument("the view of " + data_->text() + " is open already"); }
    held_data::user const use{data_};
    data_->begin_view(change_);
    is_open_ = true;
    try {
      auto const at = data_->flow().owner()->without_gil(
          [&] { return detail::wait_for_host(use.state(), change_); });
      data_->flow().owner()->note_wait();
      return array_at(data_->objects(), at, !change_, exporter(data_));
    } catch (...) {
      exit();
      throw;
    }
  }
  void exit() noexcept {
    if (std::exchange(is_open_, false)) { data_->end_view(change_); }
  }

 private:
  /// An object that keeps the data until it is gone.
  [[nodiscard]] static nb::capsule exporter(std::shared_ptr<held_data> const& data) {
    auto held = std::make_unique<std::shared_ptr<held_data>>(data);
    data->begin_export();
    return {held.release(), [](void* all) noexcept {
              std::unique_ptr<std::shared_ptr<held_data>> const kept{
                  static_cast<std::shared_ptr<held_data>*>(all)};
              (*kept)->end_export();
            }};
  }

  std::shared_ptr<held_data> const data_;
  bool const change_;
  bool is_open_ = false;
};

/// @throws invalid_argument  It is a token.
held_data& with_memory(py_data const& of, char const* call) {
  if (!of.held->objects().is_token()) { return *of.held; }
  throw invalid_argument(std::string{call} + ": a token has no memory");
}

void wait_for(py_data const& of) {
  static_cast<void>(with_memory(of, "wait()"));
  static_cast<void>(py_host_view{of.held, false}.enter());
}

nb::object copy_of(py_data const& of) {
  static_cast<void>(with_memory(of, "get()"));
  py_host_view view{of.held, false};
  return view.enter().attr("copy")();
}

int owner_of(py_data const& of) { return detail::rank_of_owner(held_data::user{of.held}.state()); }

void set_owner(py_data const& of, int rank) {
  held_data const& data = with_memory(of, "set_owner()");
  held_data::user const use{of.held};
  data.flow().owner()->without_gil([&] { detail::set_owner(use.state(), rank); });
}

void collect(py_data const& of) {
  held_data const& data = with_memory(of, "collect()");
  held_data::user const use{of.held};
  data.flow().owner()->without_gil([&] { detail::collect(use.state()); });
}

/// Brings the contents of data back to the array from which they were made. If the data have a
/// cluster, to that of the owner.
void leave(py_data const& of, nb::args const& why) {
  bool const is_after_error = why.size() > 0 && !why[0].is_none();
  cluster_core const* const ranks = of.held->flow().ranks();
  bool const is_usable = !of.held->is_closed() && !of.held->flow().owner()->is_closed() &&
                         (ranks == nullptr || !ranks->is_closed());
  bool const is_wanted = of.held->is_of_program() && of.held->is_written_back();
  if (!is_after_error && is_usable && is_wanted) {
    if (ranks != nullptr) { collect(of); }
    if (ranks == nullptr || ranks->rank() == owner_of(of)) { wait_for(of); }
  }
  of.held->close();
}

void prefetch(py_data const& of, nb::handle device) {
  std::optional<device_ordinal> const to = device_of(device);
  held_data const& data = with_memory(of, "prefetch()");
  held_data::user const use{of.held};
  data.flow().owner()->without_gil([&] { detail::prefetch(use.state(), to); });
}

void set_write_back(py_data const& of, bool on) {
  static_cast<void>(with_memory(of, "set_write_back()"));
  of.held->set_write_back(on);
}

bool is_valid(py_data const& of, nb::handle device) {
  std::optional<device_ordinal> const at = device_of(device);
  held_data const& data = with_memory(of, "is_valid()");
  held_data::user const use{of.held};
  return data.flow().owner()->without_gil([&] { return detail::is_valid_on(use.state(), at); });
}

nb::object shape_of_data(py_data const& of) {
  nb::list made;
  for (std::size_t const each : of.held->objects().extents) { made.append(each); }
  return nb::tuple(made);
}

py_use use_of(py_data const& data, access mode) { return {data.held, mode, nullptr}; }

py_use reduce(py_data const& of, std::string const& operation) {
  held_data const& data = with_memory(of, "reduce()");
  return {of.held, access::reduce, find_reduction(operation, data.objects().element)};
}

void bind_uses(nb::module_& to) {
  using namespace nb::literals;
  nb::class_<py_use>(to, "Use", "A use of data by a task: an argument of Flow.submit.");
  to.def(
      "read", [](py_data const& data) { return use_of(data, access::read); }, "data"_a,
      "The task reads the data.");
  to.def(
      "write", [](py_data const& data) { return use_of(data, access::write); }, "data"_a,
      "The task writes all of the data, and does not read them.");
  to.def(
      "update", [](py_data const& data) { return use_of(data, access::update); }, "data"_a,
      "The task reads and writes the data, or writes a part of them.");
  to.def(
      "commute", [](py_data const& data) { return use_of(data, access::commute); }, "data"_a,
      "As update, but the order of such tasks does not matter. They never run at the same time.");
  to.def("reduce", reduce, "data"_a, "operation"_a = "sum",
         "The task combines its contribution into a partial result: \"sum\", \"product\", \"min\", "
         "\"max\", \"and\", \"or\" or \"xor\". Tasks on different devices have no order.");
}

}  // namespace

void bind_data(nb::module_& to) {
  using namespace nb::literals;
  nb::class_<py_host_view>(to, "HostView",
                           "A context manager whose value is a NumPy array that views data.")
      .def("__enter__", &py_host_view::enter,
           nb::sig("def __enter__(self) -> numpy.typing.NDArray[typing.Any]"))
      .def(
          "__exit__", [](py_host_view& self, nb::args const&) { self.exit(); }, "why"_a);
  nb::class_<py_data>(to, "Data",
                      "An array that has copies in the memory of the host and of devices. Its flow "
                      "copies it to where tasks need it. As a context manager, it closes at the "
                      "end of the block; if it was made from an array, it has first copied the "
                      "contents back to it, unless there was an exception.")
      .def_prop_ro("shape", shape_of_data,
                   nb::for_getter(nb::sig("def shape(self, /) -> tuple[int, ...]")),
                   "Empty for a token.")
      .def_prop_ro("dtype", [](py_data const& d) { return d.held->objects().element.name(); })
      .def_prop_ro("closed", [](py_data const& d) { return d.held->is_closed(); })
      .def("wait", wait_for,
           "Waits until the contents are on the host. Data that were made from an array are then "
           "in this array. Raises the error of the task that should have written them.")
      .def("get", copy_of, nb::sig("def get(self) -> numpy.typing.NDArray[typing.Any]"),
           "Waits, and returns the contents as a new NumPy array.")
      .def(
          "view",
          [](py_data const& of, bool change) {
            return new py_host_view{with_memory(of, "view()").shared_from_this(), change};
          },
          nb::kw_only(), "change"_a = false, nb::rv_policy::take_ownership,
          "with data.view() as array: a NumPy array that views the contents, until the end of the "
          "block. With `change`, the program may change them. Meanwhile tasks that conflict are "
          "refused.")
      .def("prefetch", prefetch, "device"_a = nb::none(),
           "Starts to copy the data to a device, or to the host. Does not wait.")
      .def("set_write_back", set_write_back, "on"_a,
           "Whether the end of the data copies the newest contents to the array or buffer from "
           "which they were made. It does, unless this is switched off.")
      .def("is_valid", is_valid, "device"_a = nb::none(),
           "Whether the copy on a device, or on the host, is or will be valid.")
      .def(
          "tiles", divide, "tile"_a, nb::kw_only(), "owners"_a = nb::none(),
          nb::sig("def tiles(self, tile: object, *, owners: collections.abc.Sequence[int] | "
                  "collections.abc.Callable[[int], collections.abc.Sequence[int]] | None = None) "
                  "-> Tiles"),
          "Divides the data into tiles of this shape, each of which is data of its own. While a "
          "tile exists, tasks cannot use the whole data. `owners` are the ranks that own the tiles "
          "in row-major order, or a function that returns them for a number of tiles, such as "
          "Cluster.blocks.")
      .def_prop_ro("owner", owner_of,
                   "The rank that owns the data: 0, unless the program says something else. Only "
                   "there, the contents can be copied to the host.")
      .def("set_owner", set_owner, "rank"_a,
           "Makes another rank the owner, which gets the contents. All ranks call it.")
      .def(
          "collect", collect,
          "Ends the copies on other ranks than the owner, and brings it the contents of tiles that "
          "have ended. All ranks call it.")
      .def(
          "close", [](py_data const& of) { of.held->close(); },
          "Ends the data, and copies their contents back to the array or buffer from which they "
          "were made (set_write_back). Tasks that were submitted before still use them. Waits for "
          "those that use the memory of an array.")
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> Data"))
      .def("__exit__", leave, "why"_a)
      .def("__repr__", [](py_data const& of) { return "<flotilla: " + of.held->text() + ">"; });
  bind_uses(to);
  bind_tiles(to);
}

}  // namespace flotilla::python

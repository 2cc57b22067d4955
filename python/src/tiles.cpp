// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The Python class Tiles.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

#include "data.hpp"
#include "foreign.hpp"

namespace flotilla::python {

namespace {

/// Returns an index from 0. A negative index counts from the end, as in Python.
std::size_t checked_index(nb::handle given, std::size_t count) {
  if (PyIndex_Check(given.ptr()) == 0) {
    throw nb::type_error("a tile is selected by whole numbers");
  }
  Py_ssize_t index = PyNumber_AsSsize_t(given.ptr(), PyExc_IndexError);
  if (index == -1 && PyErr_Occurred() != nullptr) { nb::raise_python_error(); }
  if (index < 0) { index += static_cast<Py_ssize_t>(count); }
  if (index < 0 || index >= static_cast<Py_ssize_t>(count)) {
    throw nb::index_error("there is no tile with this index");
  }
  return static_cast<std::size_t>(index);
}

py_data tile_at(py_tiles const& of, nb::handle which) {
  if (!nb::isinstance<nb::tuple>(which)) { return of.tiles[checked_index(which, of.tiles.size())]; }
  nb::tuple const all = nb::borrow<nb::tuple>(which);
  if (all.size() != of.counts.size()) {
    throw nb::index_error("a tile needs one index, or one for each dimension");
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < of.counts.size(); ++i) {
    at = at * of.counts[i] + checked_index(all[i], of.counts[i]);
  }
  return of.tiles[at];
}

/// @param count  The number of tiles.
std::vector<int> ranks_of(nb::handle given, std::size_t count) {
  std::vector<int> made;
  if (given.is_none()) { return made; }
  nb::object const all = PyCallable_Check(given.ptr()) != 0 ? given(count) : nb::borrow(given);
  if (!nb::try_cast(all, made)) {
    PyErr_Clear();
    throw invalid_argument("tiles(): the owners are the numbers of ranks, but got a " +
                           type_of(all));
  }
  if (made.size() == count) { return made; }
  throw invalid_argument("tiles(): the data have " + std::to_string(count) +
                         " such tiles, but there are " + std::to_string(made.size()) + " owners");
}

void close(py_tiles& all) {
  // An array that views a tile would keep it, and then the whole data could not be used.
  for (py_data const& each : all.tiles) {
    if (!each.held->is_closed()) { each.held->check_not_viewed("close()"); }
  }
  for (py_data const& each : all.tiles) { each.held->close(); }
}

}  // namespace

py_tiles divide(py_data const& whole, nb::handle tile, nb::handle owners) {
  held_data const& data = *whole.held;
  held_data::user const use{whole.held};
  held_data::layout const& of = data.objects();
  if (of.is_token()) { throw invalid_argument("tiles(): a token has no memory"); }
  data.check_not_viewed("tiles()");
  std::vector<std::size_t> const each = shape_of(tile, of.element);
  if (each.size() != of.extents.size()) {
    throw invalid_argument("tiles(): " + data.text() + " has " + std::to_string(of.extents.size()) +
                           " dimensions, but the tile has " + std::to_string(each.size()));
  }
  py_tiles made;
  std::size_t count = 1;
  for (std::size_t i = 0; i < each.size(); ++i) {
    std::size_t const along = each[i] == 0 ? 0 : (of.extents[i] + each[i] - 1) / each[i];
    made.counts.push_back(along);
    count *= along;
  }
  std::vector<int> const ranks = ranks_of(owners, count);
  auto states =
      data.flow().owner()->without_gil([&] { return detail::divide(use.state(), each, ranks); });
  for (std::size_t i = 0; i < states.size(); ++i) {
    held_data::layout part = of;
    std::size_t rest = i;
    for (std::size_t k = each.size(); k-- > 0; rest /= made.counts[k]) {
      part.extents[k] = std::min(each[k], of.extents[k] - rest % made.counts[k] * each[k]);
    }
    made.tiles.push_back(data.make_tile(std::move(states[i]), std::move(part), i));
  }
  return made;
}

void bind_tiles(nb::module_& to) {
  using namespace nb::literals;
  nb::class_<py_tiles>(to, "Tiles",
                       "The tiles of data. tiles[i] selects them in row-major order, tiles[i, j] "
                       "by row and column. As a context manager, it closes all tiles at the end of "
                       "the block, and then tasks can use the whole data again.")
      .def_prop_ro(
          "shape",
          [](py_tiles const& t) {
            nb::list made;
            for (std::size_t const each : t.counts) { made.append(each); }
            return nb::tuple(made);
          },
          nb::for_getter(nb::sig("def shape(self, /) -> tuple[int, ...]")),
          "The number of tiles in each dimension.")
      .def("__len__", [](py_tiles const& t) { return t.tiles.size(); })
      .def("__getitem__", tile_at, "which"_a)
      .def("close", close, "Closes all tiles. An array must not view one of them: InvalidArgument.")
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> Tiles"))
      .def(
          "__exit__", [](py_tiles& self, nb::args const&) { close(self); }, "why"_a);
}

}  // namespace flotilla::python

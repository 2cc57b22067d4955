// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <utility>

#include <flotilla/error/error.hpp>

#include "errors.hpp"
#include "foreign.hpp"
#include "found.hpp"

namespace flotilla::python {

namespace {

std::string label_of(nb::handle given) {
  std::string made;
  if (given.is_none()) { return made; }
  if (!nb::try_cast(given, made, false)) {
    PyErr_Clear();
    throw invalid_argument("the label of data is a string, but got a " + type_of(given));
  }
  return made;
}

void check_rank(std::size_t rank) {
  if (rank >= 1 && rank <= 3) { return; }
  throw invalid_argument("data have 1 to 3 dimensions, but not " + std::to_string(rank));
}

void check_element(element_type const& element) {
  if (element.kind != element_kind::opaque) { return; }
  throw invalid_argument("the objects of data are numbers, but the array has others, of " +
                         std::to_string(element.bytes) + " bytes");
}

detail::host_block on_host(void* memory, held_data::layout const& of,
                           std::optional<std::size_t> count, detail::host_memory kind) {
  return {memory, count, of.element.bytes, of.extents, kind};
}

py_data add(std::shared_ptr<flow_core> const& flow, datum_pointer state, held_data::layout of,
            data_memory memory, std::string label) {
  return {std::make_shared<held_data>(flow, std::move(state), std::move(of), std::move(memory),
                                      std::move(label))};
}

py_data from_buffer(std::shared_ptr<flow_core> const& flow, py_buffer const& buffer,
                    std::string label) {
  if (buffer.memory->owner() != flow->owner()) {
    throw wrong_runtime("the buffer belongs to another runtime than the flow");
  }
  held_data::layout of{buffer.element, buffer.shape};
  check_rank(of.extents.size());
  std::uintptr_t const address = buffer.address();
  datum_pointer state{flow->without_gil([&](flotilla::flow& to) {
    if (buffer.is_pinned()) {
      return detail::make_datum(
          to,
          on_host(reinterpret_cast<void*>(address), of, buffer.size(), detail::host_memory::mapped),
          label);
    }
    return detail::make_datum(to, detail::range_access::range(buffer.on_device()), of.element.bytes,
                              of.extents, label);
  })};
  buffer.memory->begin_export();  // so that the runtime frees the data before the buffer
  return add(flow, std::move(state), std::move(of), {nb::none(), buffer.memory}, std::move(label));
}

}  // namespace

detail::datum_use used_data::add(flow_core const& flow, py_use const& use) {
  if (use.data->flow().owner() != flow.owner()) {
    throw wrong_runtime(use.data->text() + " and the flow belong to different runtimes");
  }
  use.data->check_access(use.mode);
  users_.emplace_back(use.data);
  uses_.push_back({&users_.back().state(), use.mode, use.how});
  return uses_.back();
}

std::vector<std::size_t> strides_of(held_data::layout const& of, detail::placed_data const& at) {
  std::vector<std::size_t> made(of.extents.size(), of.element.bytes);
  if (made.size() == 2) { made[0] = at.pitch.row; }
  if (made.size() == 3) {
    made[0] = at.pitch.plane;
    made[1] = at.pitch.row;
  }
  return made;
}

nb::object array_at(held_data::layout const& of, detail::placed_data const& at, bool is_read_only,
                    nb::handle owner) {
  std::vector<std::int64_t> strides;  // in elements
  for (std::size_t const each : strides_of(of, at)) {
    strides.push_back(static_cast<std::int64_t>(each / of.element.bytes));
  }
  auto const make = [&](auto kind) {
    using array = decltype(kind);
    return nb::cast(array(at.address, of.extents.size(), of.extents.data(), owner, strides.data(),
                          dlpack_type(of.element), nb::device::cpu::value, 0));
  };
  return is_read_only ? make(nb::ndarray<nb::numpy, nb::ro>{}) : make(nb::ndarray<nb::numpy>{});
}

py_data make_data(std::shared_ptr<flow_core> const& flow, nb::handle from, nb::handle label) {
  static_cast<void>(flow->usable());
  std::string name = label_of(label);
  if (py_buffer const* const buffer = found<py_buffer>(from)) {
    return from_buffer(flow, *buffer, std::move(name));
  }
  std::optional<array_view> array = view_array(from);
  if (!array) {
    throw invalid_argument("data are made from an array or a buffer, but got a " + type_of(from) +
                           "; for data without contents, call Flow.empty");
  }
  std::string const what = "the " + type_of(from);
  if (array->is_on_gpu) {
    throw invalid_argument(what +
                           " is in the memory of a GPU; make a buffer of it with Runtime.view");
  }
  if (!array->is_contiguous) {
    throw invalid_argument(what + " is not contiguous in the order of C");
  }
  if (array->is_read_only) {
    throw invalid_argument(what + " is read-only, but the flow copies results to it");
  }
  check_element(array->element);
  check_rank(array->shape.size());
  held_data::layout of{array->element, array->shape};
  std::size_t const count = array->bytes / of.element.bytes;
  datum_pointer state{flow->without_gil([&](flotilla::flow& to) {
    return detail::make_datum(to, on_host(array->data, of, count, detail::host_memory::pageable),
                              name);
  })};
  return add(flow, std::move(state), std::move(of), {array->kept, nullptr}, std::move(name));
}

py_data make_empty(std::shared_ptr<flow_core> const& flow, nb::handle shape, nb::handle dtype,
                   nb::handle label) {
  held_data::layout of{element_type_of(dtype), {}};
  of.extents = shape_of(shape, of.element);
  check_rank(of.extents.size());
  std::string name = label_of(label);
  datum_pointer state{flow->without_gil([&](flotilla::flow& to) {
    return detail::make_datum(to, on_host(nullptr, of, std::nullopt, detail::host_memory::pageable),
                              name);
  })};
  return add(flow, std::move(state), std::move(of), {nb::none(), nullptr}, std::move(name));
}

py_data make_token(std::shared_ptr<flow_core> const& flow, nb::handle label) {
  std::string name = label_of(label);
  datum_pointer state{
      flow->without_gil([&](flotilla::flow& to) { return detail::make_token(to, name); })};
  return add(flow, std::move(state), {}, {nb::none(), nullptr}, std::move(name));
}

}  // namespace flotilla::python

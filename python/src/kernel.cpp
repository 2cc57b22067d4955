// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <span>
#include <utility>

#include <flotilla/error/error.hpp>

#include "foreign.hpp"

namespace flotilla::python {

std::string kernel_signature::subject(std::size_t index) const {
  return "kernel '" + name + "', argument " + std::to_string(index);
}

extent extent_of(nb::handle given, char const* what) {
  std::uint32_t sizes[3] = {1, 1, 1};
  std::size_t count = 0;
  auto const add = [&](nb::handle each) {
    if (count == 3) { throw invalid_argument(std::string{what} + " has more than 3 dimensions"); }
    std::int64_t size = 0;
    if (!nb::try_cast(each, size) || size < 0 || size > std::numeric_limits<std::uint32_t>::max()) {
      PyErr_Clear();
      throw invalid_argument(std::string{what} +
                             " must have whole numbers from 1 to 2^32 - 1, but has " +
                             nb::cast<std::string>(nb::repr(each)));
    }
    sizes[count++] = static_cast<std::uint32_t>(size);
  };
  if (nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::list>(given)) {
    for (nb::handle const each : given) { add(each); }
  } else {
    add(given);
  }
  return {sizes[0], sizes[1], sizes[2]};
}

namespace {

void check_types(kernel_signature const& of) {
  if (of.types.size() != of.parameters.size()) {
    throw invalid_argument("kernel '" + of.name + "' has " + std::to_string(of.parameters.size()) +
                           " parameters, but " + std::to_string(of.types.size()) +
                           " types were given");
  }
  for (std::size_t i = 0; i < of.types.size(); ++i) {
    parameter_type const& type = of.types[i];
    std::size_t const bytes = type.is_pointer ? sizeof(void*) : type.element.bytes;
    bool const is_known = type.is_pointer || type.element.kind != element_kind::opaque;
    if (is_known && bytes != of.parameters[i].bytes) {
      throw invalid_argument("parameter " + std::to_string(i) + " of kernel '" + of.name +
                             "' has " + std::to_string(of.parameters[i].bytes) + " bytes, but '" +
                             type.text + "' has " + std::to_string(bytes));
    }
  }
}

py_shaped_kernel over(py_kernel const& of, std::int64_t threads, std::uint32_t block) {
  static_cast<void>(of.owner->usable());
  return {of.owner, of.kernel.over(threads, block), of.signature};
}

py_shaped_kernel with_shape(py_kernel const& of, nb::handle grid, nb::handle block,
                            std::uint32_t shared) {
  static_cast<void>(of.owner->usable());
  return {of.owner,
          of.kernel.with_shape(extent_of(grid, "the grid"), extent_of(block, "the block"), shared),
          of.signature};
}

template <class Change>
py_shaped_kernel changed(py_shaped_kernel const& of, Change const& change) {
  return {of.owner, change(of.kernel), of.signature};
}

nb::tuple tuple_of(extent const& of) { return nb::make_tuple(of.x, of.y, of.z); }

std::string text_of(extent const& grid, extent const& block) {
  auto const text = [](extent const& of) {
    return std::to_string(of.x) + " x " + std::to_string(of.y) + " x " + std::to_string(of.z);
  };
  return text(grid) + " blocks of " + text(block) + " threads";
}

}  // namespace

py_kernel find_kernel(core_ptr const& owner, program const& of, std::string const& name,
                      nb::handle types) {
  static_cast<void>(owner->usable());
  untyped_kernel const found = owner->without_gil([&] { return of.kernel(name); });
  auto signature = std::make_shared<kernel_signature>();
  signature->name = name;
  signature->parameters.assign(found.parameters().begin(), found.parameters().end());
  if (!types.is_none()) {
    if (!nb::isinstance<nb::str>(types)) {
      throw invalid_argument(
          "the types of a kernel's parameters are a string such as \"float, int*\", but got a " +
          type_of(types));
    }
    signature->types = parse_parameters(nb::cast<std::string>(types));
    check_types(*signature);
    for (std::size_t i = 0; i < signature->types.size(); ++i) {
      parameter_type& type = signature->types[i];
      if (!type.is_pointer && type.view_rank == 0 && type.element.bytes == 0) {
        type.element.bytes = signature->parameters[i].bytes;
      }
    }
  }
  return {owner, found, std::move(signature)};
}

void bind_kernels(nb::module_& to) {
  nb::class_<raw_address>(to, "Address",
                          "An address that the program has computed, as an argument of a kernel. "
                          "flotilla cannot check it, and does not keep its memory.")
      .def(nb::new_([](std::uintptr_t value) { return raw_address{value}; }), nb::arg("value"))
      .def_ro("value", &raw_address::value);
  nb::class_<each_argument>(to, "Each",
                            "An argument of Runtime.submit_bulk that has one value for each item: "
                            "an array of numbers, or a buffer or array whose rows the items use.")
      .def(nb::new_([](nb::object values) { return each_argument{std::move(values)}; }),
           nb::arg("values"));
  nb::class_<py_launch>(
      to, "Launch", "A launch as data. Runtime.submit submits it as a task, any number of times.")
      .def_prop_ro(
          "grid", [](py_launch const& l) { return tuple_of(l.what.grid()); },
          nb::for_getter(nb::sig("def grid(self, /) -> tuple[int, int, int]")))
      .def_prop_ro(
          "block", [](py_launch const& l) { return tuple_of(l.what.block()); },
          nb::for_getter(nb::sig("def block(self, /) -> tuple[int, int, int]")))
      .def("__repr__", [](py_launch const& l) {
        return "<flotilla: launch with " + text_of(l.what.grid(), l.what.block()) + ">";
      });
  nb::class_<py_shaped_kernel>(to, "ShapedKernel",
                               "A kernel with its grid and block. Call it with the arguments to "
                               "make a launch.")
      .def("__call__", make_launch, nb::arg("arguments"))
      .def("__repr__",
           [](py_shaped_kernel const& k) {
             launch_shape const& shape = k.kernel.shape();
             return "<flotilla: kernel '" + k.signature->name + "' with " +
                    text_of(shape.grid, shape.block) + ">";
           })
      .def(
          "shared",
          [](py_shaped_kernel const& of, std::uint32_t bytes) {
            return changed(of, [&](auto const& k) { return k.shared(bytes); });
          },
          nb::arg("bytes"), "Gives each block dynamic shared memory.")
      .def(
          "cluster",
          [](py_shaped_kernel const& of, nb::handle size, bool non_portable) {
            auto const limit = non_portable ? cluster_limit::non_portable : cluster_limit::portable;
            extent const checked = extent_of(size, "the cluster");
            return changed(of, [&](auto const& k) { return k.cluster(checked, limit); });
          },
          nb::arg("size"), nb::kw_only(), nb::arg("non_portable") = false,
          "Groups the blocks of the grid into clusters.")
      .def(
          "cooperative",
          [](py_shaped_kernel const& of) {
            return changed(of, [](auto const& k) { return k.cooperative(); });
          },
          "Starts all blocks of the grid together.")
      .def(
          "programmatic",
          [](py_shaped_kernel const& of) {
            return changed(of, [](auto const& k) { return k.programmatic(); });
          },
          "Lets the kernel start before its predecessor has ended.");
  nb::class_<py_kernel>(to, "Kernel", "A kernel of a loaded program.")
      .def_prop_ro("name", [](py_kernel const& k) { return k.signature->name; })
      .def("__repr__",
           [](py_kernel const& k) { return "<flotilla: kernel '" + k.signature->name + "'>"; })
      .def_prop_ro(
          "parameter_bytes",
          [](py_kernel const& k) {
            std::vector<std::uint32_t> sizes;
            for (auto const& each : k.signature->parameters) { sizes.push_back(each.bytes); }
            return sizes;
          },
          "The size of each parameter in bytes.")
      .def("over", over, nb::arg("threads"), nb::arg("block") = 256,
           "The kernel with a one-dimensional grid of at least `threads` threads.")
      .def(
          "with_shape", with_shape, nb::arg("grid"), nb::arg("block"), nb::kw_only(),
          nb::arg("shared") = 0,
          "The kernel with this grid in blocks and this block in threads: numbers, or tuples of up "
          "to three.");
}

}  // namespace flotilla::python

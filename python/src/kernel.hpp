// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs, kernels and launches.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/kernel/program.hpp>
#include <flotilla/kernel/untyped_kernel.hpp>

#include "core.hpp"
#include "element.hpp"

namespace flotilla::python {

/// What is known about the parameters of a kernel. Valid also after the runtime has ended.
struct kernel_signature {
  std::string name;
  std::vector<kernel_parameter> parameters;
  std::vector<parameter_type> types;  // empty if the caller has given none

  /// "kernel 'saxpy', argument 2", for messages.
  [[nodiscard]] std::string subject(std::size_t index) const;
  [[nodiscard]] parameter_type const* type(std::size_t index) const noexcept {
    return index < types.size() ? &types[index] : nullptr;
  }
};

struct py_kernel {
  core_ptr owner;
  untyped_kernel kernel;
  std::shared_ptr<kernel_signature const> signature;
};

/// A kernel with its grid, block and attributes.
struct py_shaped_kernel {
  core_ptr owner;
  untyped_kernel::configured kernel;
  std::shared_ptr<kernel_signature const> signature;
};

/// A launch, and the objects whose memory it uses.
struct py_launch {
  core_ptr owner;
  launch what;
  nb::object kept;     // buffers and arrays; a list, or none
  nb::object foreign;  // the arrays of other packages; a list, or none
};

/// An address that Python code has computed. flotilla cannot check it.
struct raw_address {
  std::uintptr_t value;
};

/// An argument of a bulk with one value for each item.
struct each_argument {
  nb::object values;
};

/// The objects whose memory the arguments of a launch use.
class kept_objects {
 public:
  void add_buffer(nb::handle buffer) { append(all_, buffer); }
  void add_foreign(nb::handle array) {
    append(all_, array);
    append(foreign_, array);
  }
  [[nodiscard]] nb::object all() const { return all_.is_valid() ? all_ : nb::none(); }
  [[nodiscard]] nb::object foreign() const { return foreign_.is_valid() ? foreign_ : nb::none(); }

 private:
  static void append(nb::object& to, nb::handle object) {
    if (!to.is_valid()) { to = nb::list(); }
    nb::borrow<nb::list>(to).append(object);
  }
  nb::object all_;
  nb::object foreign_;
};

/// Appends an argument to a launch, and the objects whose memory it uses to `kept`.
/// @throws invalid_argument  The argument does not suit the parameter. The message names the kernel
///                           and the argument.
void append_argument(untyped_launch& to, runtime_core& owner, kernel_signature const& signature,
                     nb::handle value, kept_objects& kept);

/// Makes a launch.
[[nodiscard]] py_launch make_launch(py_shaped_kernel const& kernel, nb::args const& arguments);

/// Returns the extent that a caller has given as a number or as a sequence of up to three.
[[nodiscard]] extent extent_of(nb::handle given, char const* what);

/// Returns a kernel of a program.
/// @param types  The parameter list of its source, or none.
[[nodiscard]] py_kernel find_kernel(core_ptr const& owner, program const& of,
                                    std::string const& name, nb::handle types);

void bind_kernels(nb::module_& to);

}  // namespace flotilla::python

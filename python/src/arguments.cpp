// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <flotilla/error/error.hpp>
#include <flotilla/kernel/untyped_data_launch.hpp>

#include "data.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "scalar.hpp"

namespace flotilla::python {

namespace {

/// Appends one argument. Each function returns false if the argument is of another kind.
/// @tparam To  untyped_launch or untyped_data_launch
template <class To>
class appender {
 public:
  appender(To& to, std::size_t index, runtime_core& owner, kernel_signature const& signature,
           nb::handle value, kept_objects& kept)
      : to_{to},
        index_{index},
        owner_{owner},
        signature_{signature},
        value_{value},
        kept_{kept},
        type_{signature.type(index)} {}

  void append() {
    if (append_number() || append_buffer() || append_address() || append_scalar() ||
        append_array()) {
      return;
    }
    if (found<py_use>(value_) != nullptr) {
      refuse("is a use of data; submit it as Flow.submit(kernel.over(n), read(x), …)");
    }
    refuse("is a " + type_of(value_) + ", which is no argument of a kernel");
  }

 private:
  [[noreturn]] void refuse(std::string const& why) const {
    throw invalid_argument(signature_.subject(index_) + " " + why);
  }
  [[nodiscard]] std::string declared() const { return " parameter '" + type_->text + "'"; }

  bool append_number() {
    PyObject* const object = value_.ptr();
    bool const is_python_number = PyFloat_CheckExact(object) != 0 || PyLong_CheckExact(object) != 0;
    if (type_ == nullptr) {
      if (!is_python_number && PyBool_Check(object) == 0) { return false; }
      refuse(
          "is a Python number, whose type in the kernel is not known; get the kernel with its "
          "parameter types, as in program.kernel(\"" +
          signature_.name + "\", \"float, int\"), or pass a scalar of NumPy");
    }
    if (type_->is_pointer) {
      if (!is_python_number) { return false; }
      refuse("is a Python number, but the" + declared() +
             " is a pointer; for an address, pass flotilla.Address(number)");
    }
    scalar_value made;
    if (!write_number(value_, type_->element, made, signature_.subject(index_))) { return false; }
    to_.append(made.bytes, type_->element.bytes);
    return true;
  }

  bool append_buffer() {
    py_buffer const* const buffer = found<py_buffer>(value_);
    if (buffer == nullptr) { return false; }
    check_pointer(buffer->element, "the buffer", false);
    if (&buffer->owner() != &owner_) {
      throw wrong_runtime(signature_.subject(index_) +
                          " is a buffer of another runtime than the kernel");
    }
    if (buffer->is_pinned()) {
      append_address_of(buffer->address());
    } else if (type_ != nullptr && type_->is_read_only) {
      to_.append(device_span<std::byte const>{buffer->on_device()});
    } else {
      to_.append(buffer->on_device());
    }
    if (buffer->memory->is_foreign()) {
      kept_.add_foreign(value_);
    } else {
      kept_.add_buffer(value_);
    }
    return true;
  }

  bool append_address() {
    std::uintptr_t address = 0;
    if (!value_.is_none()) {
      raw_address const* const given = found<raw_address>(value_);
      if (given == nullptr) { return false; }
      address = given->value;
    }
    if (type_ != nullptr && !type_->is_pointer) {
      refuse("is an address, but the" + declared() + " is no pointer");
    }
    append_address_of(address);
    return true;
  }

  /// Scalars of NumPy and ctypes, and bytes: the argument has their bytes.
  bool append_scalar() {
    if (type_ != nullptr && type_->is_pointer) { return false; }
    std::optional<scalar_view> const scalar = view_scalar(value_);
    if (!scalar) { return false; }
    bool const has_known_types = type_ != nullptr && type_->element.kind != element_kind::opaque &&
                                 scalar->element.kind != element_kind::opaque;
    if (has_known_types && type_->element != scalar->element) {
      refuse("is a " + scalar->element.name() + ", but the" + declared() + " is a " +
             type_->element.name());
    }
    to_.append(scalar->value.data(), scalar->value.size());
    return true;
  }

  bool append_array() {
    std::optional<array_view> const array = view_array(value_);
    if (!array) { return false; }
    std::string const what = "the " + type_of(value_);
    check_pointer(array->element, what, array->is_read_only);
    if (!array->is_contiguous) { refuse("is not contiguous in the order of C"); }
    if (array->is_on_gpu != owner_.has_gpus()) {
      refuse(array->is_on_gpu
                 ? "is in the memory of a GPU, but the runtime has CPU devices"
                 : "is in the memory of the host, which a GPU cannot use; copy it to a buffer");
    }
    if (owner_.any_isolated()) {
      refuse(
          "is in the memory of this process, which an isolated device cannot use; copy it to a "
          "buffer");
    }
    append_address_of(reinterpret_cast<std::uintptr_t>(array->data));
    kept_.add_foreign(array->kept);
    return true;
  }

  void check_pointer(element_type const& element, std::string const& what,
                     bool is_read_only) const {
    if (type_ == nullptr) {
      if (is_read_only) {
        refuse(
            "is read-only; get the kernel with its parameter types, so that flotilla knows "
            "whether the kernel only reads it");
      }
      return;
    }
    if (!type_->is_pointer) { refuse("is an array, but the" + declared() + " is no pointer"); }
    if (!type_->points_to(element)) {
      refuse("has elements of the type " + element.name() + ", but the" + declared() +
             " points to " + type_->element.name() + " (" + what + ")");
    }
    if (is_read_only && !type_->is_read_only) {
      refuse("is read-only, but the" + declared() + " is no pointer to const");
    }
  }

  void append_address_of(std::uintptr_t address) { to_.append(&address, sizeof address); }

  To& to_;
  std::size_t const index_;
  runtime_core& owner_;
  kernel_signature const& signature_;
  nb::handle value_;
  kept_objects& kept_;
  parameter_type const* const type_;  // null: not known
};

void check_count(std::size_t index, kernel_signature const& of) {
  if (index < of.parameters.size()) { return; }
  throw invalid_argument("kernel '" + of.name + "' has " + std::to_string(of.parameters.size()) +
                         " parameters, but got more arguments");
}

/// @throws invalid_argument  The parameter has another type than the data.
void check_use(kernel_signature const& of, std::size_t index, py_use const& use) {
  auto const& objects = use.data->objects();
  auto const refuse = [&](std::string const& why) {
    throw invalid_argument(of.subject(index) + ", " + use.data->text() + ": " + why);
  };
  if (objects.is_token()) { refuse("a launch cannot use a token"); }
  parameter_type const* const type = of.type(index);
  if (type == nullptr) { return; }
  std::string const parameter = "the parameter '" + type->text + "'";
  if (!type->is_pointer && type->view_rank == 0) {
    refuse(parameter + " is neither a pointer nor a flotilla::view");
  }
  if (type->view_rank != 0 && type->view_rank != objects.extents.size()) {
    refuse(parameter + " does not have the " + std::to_string(objects.extents.size()) +
           " dimensions of the data");
  }
  if (!type->points_to(objects.element)) {
    refuse("the data have objects of the type " + objects.element.name() + ", but " + parameter +
           " refers to " + (type->view_rank != 0 ? type->viewed : type->element).name());
  }
  if (use.mode == detail::access_mode::read && !type->is_read_only) {
    refuse("the task only reads the data, but " + parameter + " does not refer to const");
  }
}

}  // namespace

void append_argument(untyped_launch& to, runtime_core& owner, kernel_signature const& signature,
                     nb::handle value, kept_objects& kept) {
  check_count(to.size(), signature);
  appender{to, to.size(), owner, signature, value, kept}.append();
}

data_launch make_data_launch(flow_core const& flow, py_shaped_kernel const& kernel,
                             nb::args const& arguments, used_data& uses, kept_objects& kept) {
  if (kernel.owner != flow.owner()) {
    throw wrong_runtime("kernel '" + kernel.signature->name +
                        "' belongs to another runtime than the flow");
  }
  untyped_data_launch made{kernel.kernel.arguments()};
  std::size_t index = 0;
  for (nb::handle const each : arguments) {
    check_count(index, *kernel.signature);
    if (py_use const* const use = found<py_use>(each)) {
      check_use(*kernel.signature, index, *use);
      auto const& objects = use->data->objects();
      detail::append_use(made, uses.add(flow, *use), {objects.element.bytes, objects.extents});
    } else {
      appender{made, index, *kernel.owner, *kernel.signature, each, kept}.append();
    }
    ++index;
  }
  return made.finish();
}

py_launch make_launch(py_shaped_kernel const& kernel, nb::args const& arguments) {
  static_cast<void>(kernel.owner->usable());
  untyped_launch made = kernel.kernel.arguments();
  kept_objects kept;
  for (nb::handle const each : arguments) {
    append_argument(made, *kernel.owner, *kernel.signature, each, kept);
  }
  return {kernel.owner, std::move(made).finish(), kept.all(), kept.foreign()};
}

}  // namespace flotilla::python

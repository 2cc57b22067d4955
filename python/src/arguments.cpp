// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <span>
#include <string>

#include <flotilla/error/error.hpp>

#include "foreign.hpp"
#include "found.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "scalar.hpp"

namespace flotilla::python {

namespace {

/// Appends one argument. Each function returns false if the argument is of another kind.
class appender {
 public:
  appender(untyped_launch& to, runtime_core& owner, kernel_signature const& signature,
           nb::handle value, kept_objects& kept)
      : to_{to},
        owner_{owner},
        signature_{signature},
        value_{value},
        kept_{kept},
        type_{signature.type(to.size())} {}

  void append() {
    if (append_number() || append_buffer() || append_address() || append_scalar() ||
        append_array()) {
      return;
    }
    refuse("is a " + type_of(value_) + ", which is no argument of a kernel");
  }

 private:
  [[noreturn]] void refuse(std::string const& why) const {
    throw invalid_argument(signature_.subject(to_.size()) + " " + why);
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
    if (!write_number(value_, type_->element, made, signature_.subject(to_.size()))) {
      return false;
    }
    to_.append(made.bytes, type_->element.bytes);
    return true;
  }

  bool append_buffer() {
    py_buffer const* const buffer = found<py_buffer>(value_);
    if (buffer == nullptr) { return false; }
    check_pointer(buffer->element, "the buffer", false);
    if (&buffer->owner() != &owner_) {
      throw wrong_runtime(signature_.subject(to_.size()) +
                          " is a buffer of another runtime than the kernel");
    }
    if (buffer->is_pinned()) {
      append_address_of(buffer->address());
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

  untyped_launch& to_;
  runtime_core& owner_;
  kernel_signature const& signature_;
  nb::handle value_;
  kept_objects& kept_;
  parameter_type const* const type_;  // null: not known
};

}  // namespace

void append_argument(untyped_launch& to, runtime_core& owner, kernel_signature const& signature,
                     nb::handle value, kept_objects& kept) {
  if (to.size() >= signature.parameters.size()) {
    throw invalid_argument("kernel '" + signature.name + "' has " +
                           std::to_string(signature.parameters.size()) +
                           " parameters, but got more arguments");
  }
  appender{to, owner, signature, value, kept}.append();
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

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <flotilla/interop.hpp>

#include "errors.hpp"
#include "foreign.hpp"
#include "found.hpp"
#include "scalar.hpp"

namespace flotilla::python {

storage::storage(core_ptr owner, kinds memory)
    : owner_{std::move(owner)}, memory_{std::move(memory)} {
  owner_->add(*this);
}

storage::~storage() {
  memory_ = std::monostate{};  // before the runtime may end
  owner_->remove(*this);
}

storage::kinds& storage::memory() {
  static_cast<void>(owner_->usable());
  return memory_;
}

std::uintptr_t storage::address() {
  kinds& held = memory();
  if (auto* const pinned = std::get_if<host_buffer<std::byte>>(&held)) {
    return reinterpret_cast<std::uintptr_t>(pinned->data());
  }
  if (auto const* const foreign = std::get_if<foreign_memory>(&held)) {
    return foreign->span.address();
  }
  return std::get<device_buffer<std::byte>>(held).address();
}

void storage::end_export() noexcept {
  if (--exports_ == 0 && owner_->is_closed()) {
    memory_ = std::monostate{};
    owner_->remove(*this);
  }
}

bool storage::is_isolated() const {
  auto const* const buffer = std::get_if<device_buffer<std::byte>>(&memory_);
  return buffer != nullptr && owner_->is_isolated(buffer->device().value);
}

bool storage::free() noexcept {
  if (exports_ != 0) { return false; }
  memory_ = std::monostate{};
  return true;
}

std::size_t py_buffer::size() const noexcept {
  std::size_t all = 1;
  for (std::size_t const each : shape) { all *= each; }
  return all;
}

device_span<std::byte> py_buffer::on_device() const {
  auto& held = memory->memory();
  if (auto const* const foreign = std::get_if<foreign_memory>(&held)) {
    return foreign->span.subspan(offset, bytes());
  }
  return std::get<device_buffer<std::byte>>(held).subspan(offset, bytes());
}

std::string py_buffer::text() const {
  std::string made = is_pinned() ? "a pinned buffer of " : "a buffer of ";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    made += (i == 0 ? "" : " x ") + std::to_string(shape[i]);
  }
  return made + " " + element.name();
}

std::vector<std::size_t> shape_of(nb::handle given, element_type const& element) {
  std::vector<std::size_t> made;
  auto const add = [&made](nb::handle each) {
    std::int64_t size = 0;
    if (!nb::try_cast(each, size)) {
      PyErr_Clear();
      throw invalid_argument("the shape of a buffer has whole numbers, but one of them is a " +
                             type_of(each));
    }
    if (size < 0) {
      throw invalid_argument("the shape of a buffer has a negative size, " + std::to_string(size));
    }
    made.push_back(static_cast<std::size_t>(size));
  };
  if (nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::list>(given)) {
    for (nb::handle const each : given) { add(each); }
  } else {
    add(given);
  }
  std::size_t all = element.bytes;
  for (std::size_t const each : made) {
    if (each != 0 && all > std::numeric_limits<std::ptrdiff_t>::max() / each) {
      throw invalid_argument("a buffer cannot have this many bytes");
    }
    all *= each;
  }
  return made;
}

py_buffer make_buffer(core_ptr const& owner, nb::handle shape, nb::handle dtype, unsigned device,
                      bool is_pinned) {
  py_buffer made;
  made.element = element_type_of(dtype);
  made.shape = shape_of(shape, made.element);
  std::size_t const bytes = made.bytes();
  runtime& rt = owner->usable();
  auto memory = owner->without_gil([&]() -> storage::kinds {
    if (is_pinned) { return host_buffer<std::byte>{rt, bytes}; }
    return device_buffer<std::byte>{rt, device_ordinal{device}, bytes};
  });
  made.memory = std::make_shared<storage>(owner, std::move(memory));
  return made;
}

py_buffer view_foreign(core_ptr const& owner, nb::handle array, unsigned device) {
  std::optional<array_view> const found = view_array(array);
  if (!found) {
    throw invalid_argument("a " + type_of(array) +
                           " is no array: it has neither the buffer protocol, nor "
                           "__cuda_array_interface__, nor __dlpack__");
  }
  if (!found->is_contiguous) {
    throw invalid_argument("the array is not contiguous in the order of C");
  }
  runtime& rt = owner->usable();
  device_span<std::byte> const span = owner->without_gil([&] {
    return view_device_memory(rt, device_ordinal{device}, static_cast<std::byte*>(found->data),
                              found->bytes);
  });
  return {std::make_shared<storage>(owner, foreign_memory{span, found->kept}), 0, found->element,
          found->shape};
}

namespace {

/// @throws invalid_argument  The array cannot be the other side of a copy of the buffer.
void check_match(py_buffer const& buffer, element_type const& element, std::size_t bytes,
                 std::string const& what) {
  bool const has_known_type = element.kind != element_kind::opaque;
  if (has_known_type && element != buffer.element) {
    throw invalid_argument(buffer.text() + " cannot be copied from or to " + what + " of " +
                           element.name() + "; the types of the elements must be the same");
  }
  if (bytes != buffer.bytes()) {
    throw invalid_argument(buffer.text() + " has " + std::to_string(buffer.bytes()) +
                           " bytes, but " + what + " has " + std::to_string(bytes));
  }
}

array_view host_array(py_buffer const& buffer, nb::handle given, bool is_written) {
  std::optional<array_view> found = view_array(given);
  if (!found) {
    throw invalid_argument("a copy needs a buffer or an array, but got a " + type_of(given));
  }
  std::string const what = "the " + type_of(given);
  if (found->is_on_gpu) {
    throw invalid_argument(what +
                           " is in the memory of a GPU; make a buffer of it with "
                           "Runtime.view");
  }
  if (!found->is_contiguous) {
    throw invalid_argument(what +
                           " is not contiguous in the order of C; copy it first, for "
                           "example with numpy.ascontiguousarray");
  }
  if (is_written && found->is_read_only) {
    throw invalid_argument(what + " is read-only, so nothing can be copied to it");
  }
  check_match(buffer, found->element, found->bytes, what);
  return std::move(*found);
}

host_span<std::byte> pinned_span(py_buffer const& of) {
  return std::get<host_buffer<std::byte>>(of.memory->memory()).subspan(of.offset, of.bytes());
}

[[noreturn]] void refuse_host_copy() {
  throw invalid_argument(
      "both sides of the copy are on the host; copy with NumPy, or in a host task");
}

void check_owner(py_buffer const& a, py_buffer const& b) {
  if (&a.owner() != &b.owner()) {
    throw wrong_runtime("the two buffers of the copy belong to different runtimes");
  }
}

/// The copy between two buffers.
memory_op copy_between(py_buffer const& to, py_buffer const& from) {
  check_owner(to, from);
  check_match(to, from.element, from.bytes(), "the other buffer");
  if (to.is_pinned() && from.is_pinned()) { refuse_host_copy(); }
  if (to.is_pinned()) { return from.on_device().copy_to(pinned_span(to)); }
  if (from.is_pinned()) { return to.on_device().copy_from(pinned_span(from)); }
  return to.on_device().copy_from(device_span<std::byte const>{from.on_device()});
}

/// The buffers as `py_memory_op::foreign`.
nb::object foreign_of(nb::object const& buffers, bool is_foreign) {
  return is_foreign ? buffers : nb::none();
}

py_memory_op between_buffers(core_ptr const& owner, memory_op const& what, py_buffer const& a,
                             py_buffer const& b) {
  nb::object const both = nb::make_tuple(a, b);
  return {owner, what, both, foreign_of(both, a.memory->is_foreign() || b.memory->is_foreign())};
}

}  // namespace

py_memory_op copy_from(py_buffer const& to, nb::handle from) {
  core_ptr const& owner = to.memory->owner();
  static_cast<void>(owner->usable());
  if (py_buffer const* const other = found<py_buffer>(from)) {
    return between_buffers(owner, copy_between(to, *other), to, *other);
  }
  array_view const array = host_array(to, from, false);
  if (to.is_pinned()) { refuse_host_copy(); }
  std::span const bytes{static_cast<std::byte const*>(array.data), array.bytes};
  return {owner, to.on_device().copy_from(bytes), nb::make_tuple(to),
          nb::make_tuple(to, array.kept)};
}

py_memory_op copy_to(py_buffer const& from, nb::handle to) {
  core_ptr const& owner = from.memory->owner();
  static_cast<void>(owner->usable());
  if (py_buffer const* const other = found<py_buffer>(to)) {
    return between_buffers(owner, copy_between(*other, from), from, *other);
  }
  array_view const array = host_array(from, to, true);
  if (from.is_pinned()) { refuse_host_copy(); }
  std::span const bytes{static_cast<std::byte*>(array.data), array.bytes};
  return {owner, from.on_device().copy_to(bytes), nb::make_tuple(from),
          nb::make_tuple(from, array.kept)};
}

py_memory_op fill(py_buffer const& to, nb::handle value) {
  core_ptr const& owner = to.memory->owner();
  static_cast<void>(owner->usable());
  if (to.is_pinned()) {
    throw invalid_argument("a pinned buffer is memory of the host; fill it with NumPy");
  }
  std::vector<std::byte> const pattern = scalar_bytes(value, to.element, "the value of a fill");
  return {owner, detail::range_access::range(to.on_device()).fill(pattern.data(), pattern.size()),
          nb::make_tuple(to), foreign_of(nb::make_tuple(to), to.memory->is_foreign())};
}

}  // namespace flotilla::python

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

/// Data that the program has closed or dropped.
struct ended_data final : late_object {
  datum_pointer state;
  data_memory memory;

  ended_data(datum_pointer of, data_memory at) noexcept
      : state{std::move(of)}, memory{std::move(at)} {}
  ended_data(ended_data const&) = delete;
  ended_data& operator=(ended_data const&) = delete;
  /// Waits until `is_used` would return false. The caller must not hold the GIL.
  void wait() const { detail::wait_until_unused(*state); }
  bool is_used() noexcept override {
    nb::gil_scoped_release const released;
    try {
      return detail::is_used(*state);
    } catch (std::exception const&) {  // no memory: the destructor waits
      return false;
    }
  }
  /// Waits until no task uses pageable memory of the program, and releases it afterwards.
  ~ended_data() override {
    {
      nb::gil_scoped_release const released;
      state.reset();
    }
    if (memory.buffer != nullptr) { memory.buffer->end_export(); }
  }
};

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

held_data::held_data(std::shared_ptr<flow_core> flow, datum_pointer state, layout of,
                     data_memory memory, std::string label)
    : flow_{std::move(flow)},
      state_{std::move(state)},
      layout_{std::move(of)},
      memory_{std::move(memory)},
      label_{std::move(label)} {
  flow_->owner()->add(*this);
}

held_data::~held_data() {
  end_state();
  flow_->owner()->remove(*this);
}

std::string held_data::text() const {
  std::string const kind = layout_.is_token() ? "token" : "data";
  return kind + (label_.empty() ? " without a label" : " '" + label_ + "'");
}

held_data::user::user(std::shared_ptr<held_data> data) : user{data->calls_, data} {
  static_cast<void>(data_->flow_->owner()->usable());
  if (data_->is_closed_) {
    throw invalid_handle(data_->text() + " cannot be used: close() was called");
  }
  if (data_->flow_->ranks() != nullptr) { data_->flow_->ranks()->check_open(); }
}

void held_data::close() {
  if (is_closed_ && (state_ == nullptr || exports_ != 0)) { return; }
  if (calls_ != 0 && inside_function::is_active()) {
    throw would_deadlock("close(): another thread uses " + text() +
                         ", and may wait for the task that calls close()");
  }
  if (calls_ != 0) { inside_loop::refuse_wait(text()); }
  std::shared_ptr<held_data> const self = shared_from_this();
  is_closed_ = true;
  interruptible_call waiting;
  while (calls_ != 0) { waiting.sleep(); }
  if (state_ == nullptr || exports_ != 0) { return; }
  runtime_core& owner = *flow_->owner();
  if (!inside_function::is_active() && !owner.is_in_child()) {
    user const use{calls_, self};
    owner.without_gil([&use] { detail::wait_until_unused(use.state()); });
  }
  if (calls_ == 0) { end_state(); }
}

void held_data::end_export() noexcept {
  --exports_;
  bool const has_runtime_closed = flow_->owner()->is_closed();
  if (exports_ != 0 || (!is_closed_ && !has_runtime_closed)) { return; }
  end_state();
  if (has_runtime_closed) { flow_->owner()->remove(*this); }
}

void held_data::check_access(detail::access_mode mode) const {
  if (changes_ == 0 && (views_ == 0 || mode == detail::access_mode::read)) { return; }
  throw invalid_argument("the program views " + text() +
                         " on the host; a task can use it after the end of the 'with' block");
}

void held_data::check_not_viewed(char const* call) const {
  if (views_ == 0 && changes_ == 0 && exports_ == 0) { return; }
  throw invalid_argument(std::string{call} + ": an array still views " + text() +
                         "; end its 'with' block, and delete the array");
}

py_data held_data::make_tile(datum_pointer state, layout of, std::size_t index) const {
  // Tiles can be parts of the memory from which the data were made, so each of them keeps it.
  if (memory_.buffer != nullptr) { memory_.buffer->begin_export(); }
  std::string const name = label_.empty() ? "" : label_ + "[" + std::to_string(index) + "]";
  return add(flow_, std::move(state), std::move(of), memory_, name);
}

bool held_data::free() noexcept {
  // Another thread may be inside the destructor, which also removes the data from the runtime.
  std::shared_ptr<held_data> const self = weak_from_this().lock();
  if (self == nullptr || exports_ != 0) { return false; }
  end_state();
  return true;
}

void held_data::end_state() noexcept {
  if (state_ == nullptr) { return; }
  datum_pointer state = std::move(state_);
  data_memory memory = std::move(memory_);
  runtime_core& owner = *flow_->owner();
  if (owner.is_in_child()) {  // no thread of the runtime exists here, so nothing can end
    static_cast<void>(state.release());
    static_cast<void>(memory.array.release());
    return;
  }
  auto ended = std::make_unique<ended_data>(std::move(state), std::move(memory));
  // The destructor would wait for the tasks that use the data. But a task that runs the caller
  // cannot wait, and Ctrl-C could not end the wait.
  bool const can_wait = !inside_function::is_active() && !owner.was_interrupted();
  bool const is_unused = can_wait ? wait_in_destructor([&] { ended->wait(); }) : !ended->is_used();
  if (inside_function::is_active() || !is_unused) { owner.destroy_later(std::move(ended)); }
}

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

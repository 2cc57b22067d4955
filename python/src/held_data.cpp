// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <utility>

#include <flotilla/error/error.hpp>

#include "errors.hpp"

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
  return {std::make_shared<held_data>(flow_, std::move(state), std::move(of), memory_, name)};
}

bool held_data::free() noexcept {
  // Another thread may be inside the destructor, which also removes the data from the runtime.
  std::shared_ptr<held_data> const self = weak_from_this().lock();
  if (self == nullptr || exports_ != 0) { return false; }
  end_state();
  return true;
}

void held_data::begin_end() noexcept {
  std::shared_ptr<held_data> const self = weak_from_this().lock();
  if (self == nullptr || state_ == nullptr) { return; }
  user const use{calls_, self};
  nb::gil_scoped_release const released;
  try {
    static_cast<void>(detail::is_used(use.state()));
  } catch (std::exception const&) {}  // the destructor says what failed
}

void held_data::set_write_back(bool on) {
  user const use{shared_from_this()};
  flow_->owner()->without_gil([&] { detail::set_write_back(use.state(), on); });
  is_written_back_ = on;
}

void held_data::end_state() noexcept {
  if (state_ == nullptr) { return; }
  runtime_core& owner = *flow_->owner();
  // `close` of the runtime waits for this call, because it no longer finds the state here.
  runtime_core::busy_call const busy{owner};
  datum_pointer state = std::move(state_);
  data_memory memory = std::move(memory_);
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

}  // namespace flotilla::python

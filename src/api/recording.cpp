// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/recording.hpp>

#include <flotilla/error/error.hpp>
#include <flotilla/runtime.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_registry.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

struct recording::impl : dispatch::recorder {
  using recorder::recorder;
  ~impl() {
    if (dispatch::runtime_registry::find_for_destructor(runtime(), "a recording") == nullptr) {
      forget_graphs();
    }
  }
};

recording::recording(runtime& owner)
    : impl_(std::make_unique<impl>(
          dispatch::runtime_state::of(detail::access::impl(owner)).recording_parts())) {}
recording::recording(recording&& other) noexcept = default;
recording& recording::operator=(recording&& other) noexcept = default;
recording::~recording() = default;

recording::impl& recording::checked() const {
  if (impl_ == nullptr) {
    throw invalid_argument("the recording was moved from and can no longer be used");
  }
  return *impl_;
}

recorded_task recording::add(launch const& what, recorded_options const& options) {
  return checked().add(what, options);
}
recorded_task recording::add(memory_op const& what, recorded_options const& options) {
  return checked().add(detail::access::command(what), options);
}
void recording::finish() { checked().finish(); }
ticket recording::replay(replay_options const& options) { return checked().replay(options); }
void recording::set(recorded_task which, launch const& what) { checked().set(which, what); }
void recording::set(recorded_task which, memory_op const& what) {
  checked().set(which, detail::access::command(what));
}
std::size_t recording::size() const noexcept { return impl_ == nullptr ? 0 : impl_->size(); }

}  // namespace v0_1
}  // namespace flotilla

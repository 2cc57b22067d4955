// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/reservation.hpp>

#include <utility>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_registry.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {

struct reservation::places {
  explicit places(dispatch::runtime_state& owner) noexcept : runtime(owner), number(owner.number) {}
  ~places() {
    if (slots.left() == 0) { return; }
    if (dispatch::runtime_registry::find_for_destructor(number, "a reservation") == nullptr) {
      return;
    }
    if (!runtime.usage.is_forked()) { runtime.slots.give_back_reserved(slots.all()); }
  }
  places(places const&) = delete;
  places& operator=(places const&) = delete;

  dispatch::runtime_state& runtime;
  std::uint64_t const number;
  dispatch::reserved_slots slots;
};

namespace {

template <class Places>
Places& checked(std::unique_ptr<Places> const& held) {
  if (held == nullptr) {
    throw invalid_argument("the reservation was moved from: it has no place");
  }
  return *held;
}

template <class What>
ticket submit_reserved(dispatch::runtime_state& runtime, dispatch::reserved_slots& slots,
                       What& what, task_options const& options) {
  ticket made;
  runtime.tasks.submit_reserved(what, options, slots, made);
  return made;
}

}  // namespace

reservation::reservation(std::unique_ptr<places> held) noexcept : places_(std::move(held)) {}
reservation::reservation(reservation&& other) noexcept = default;
reservation& reservation::operator=(reservation&& other) noexcept = default;
reservation::~reservation() = default;

std::size_t reservation::left() const noexcept {
  return places_ == nullptr ? 0 : places_->slots.left();
}

ticket reservation::submit(launch const& what, task_options const& options) {
  places& held = checked(places_);
  return submit_reserved(held.runtime, held.slots, what, options);
}
ticket reservation::submit(memory_op const& what, task_options const& options) {
  places& held = checked(places_);
  return submit_reserved(held.runtime, held.slots, detail::access::command(what), options);
}
ticket reservation::submit(callable&& what, task_options const& options) {
  places& held = checked(places_);
  return submit_reserved(held.runtime, held.slots, what, options);
}

std::optional<reservation> try_reserve(runtime& rt, std::span<reserved_tasks const> wanted) {
  dispatch::runtime_state& state = dispatch::runtime_state::of(detail::access::impl(rt));
  auto held = std::make_unique<reservation::places>(state);
  if (!state.tasks.try_reserve(wanted, held->slots)) { return std::nullopt; }
  return reservation{std::move(held)};
}

}  // namespace v0_1
}  // namespace flotilla

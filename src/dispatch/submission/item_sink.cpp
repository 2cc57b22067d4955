// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/item_sink.hpp"

#include <algorithm>
#include <exception>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"

namespace flotilla::dispatch {

namespace {

chunk_form form_of(launch const& what) noexcept {
  return {detail::access::kernel_index(what), what.block(), what.dynamic_shared_bytes(),
          static_cast<std::uint32_t>(what.argument_bytes())};
}

/// Whether a chunk can have launches with this kernel and these attributes.
bool is_plain(detail::launches_form const& form) noexcept {
  return !form.kernel.has_clusters && form.shape.attributes == launch_attributes{};
}

}  // namespace

void item_sink::refuse(error const& why) const {
  throw bulk_error(next(), to_.size(), why.what(), std::current_exception());
}

template <class Action>
auto item_sink::refusing(Action const& action) {
  try {
    return action();
  } catch (invalid_argument const& why) { refuse(why); } catch (missing_dependency const& why) {
    refuse(why);
  }
}

bool item_sink::begin(chunk_form const& form, extent const& grid, place const& to) {
  if (submitted_ < alone_until_) { return false; }
  bool const begun = chunk_.begin(form, grid, to, submitted_);
  alone_until_ = submitted_ + chunk_.alone();
  return begun;
}

void item_sink::close() {
  if (!chunk_.is_open()) { return; }
  chunk_.close(submitted_);
  alone_until_ = submitted_ + chunk_.alone();
}

template <class What>
void item_sink::submit_alone(What const& what) {
  close();
  refusing([&] { parts_.tasks.submit_item(what, options_, to_, submitted_); });
  ++submitted_;
}

bool item_sink::may_have_chunks(std::optional<device_ordinal> required) const noexcept {
  // A placement chooses the device of each item.
  bool const has_place = options_.device || required || !parts_.tasks.has_placement();
  return has_place && options_.batch && !parts_.makes_checks;
}

bool item_sink::add_to_chunk(launch const& what) {
  bool const is_possible = may_have_chunks(what.device()) &&
                           !detail::access::marks(what).is_attributed &&
                           what.argument_bytes() <= launch::inline_bytes;
  if (!is_possible || (!chunk_.is_open() && submitted_ < alone_until_)) { return false; }
  refusing([&] { parts_.valid.check(what, options_.device); });
  chunk_form const form = form_of(what);
  place const& to = parts_.tasks.choose(options_, what.device());
  if (!chunk_.is_open() || !chunk_.fits(form, what.grid(), to)) {
    close();
    if (!begin(form, what.grid(), to)) { return false; }
  }
  chunk_.add(what.grid(), what.arguments());
  return true;
}

void item_sink::add(launch const* first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!add_to_chunk(first[i])) { submit_alone(first[i]); }
  }
}

void item_sink::add(memory_op const& what) { submit_alone(detail::access::command(what)); }

detail::chunk_room item_sink::begin_chunk(detail::launches_form const& form) {
  close();
  // The error of an item that is not valid is found when the item is added alone.
  bool const is_possible = may_have_chunks(form.device) && is_plain(form) &&
                           form.kernel.owner == &parts_.owner &&
                           detail::are_possible(form.shape.grid, form.shape.block);
  if (!is_possible) { return {nullptr, to_.size()}; }
  if (form.device && options_.device && *form.device != *options_.device) { return {nullptr, 1}; }
  bool const begun = begin(
      {form.kernel.index, form.shape.block, form.shape.dynamic_shared_bytes, form.argument_bytes},
      form.shape.grid, parts_.tasks.choose(options_, form.device));
  return begun ? chunk_.room()
               : detail::chunk_room{nullptr, std::max(alone_until_, submitted_ + 1) - submitted_};
}

void item_sink::end_chunk(std::size_t items) {
  chunk_.add_written(items);
  close();
}

}  // namespace flotilla::dispatch

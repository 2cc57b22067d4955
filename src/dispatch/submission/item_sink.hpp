// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Receives the items of a bulk and submits them.

#include "dispatch/submission/chunk_builder.hpp"

namespace flotilla::dispatch {

/// Collects launches in chunks where it can, and submits all other items one by one.
///
/// Threads: the thread that submits the bulk.
class item_sink final : public detail::bulk_sink {
 public:
  struct parts {
    detail::runtime_impl const& owner;
    validation const& valid;
    submitter const& tasks;
    bool makes_checks;  // whether the runtime checks each task
    chunk_builder::parts chunks;
  };
  item_sink(parts const& with, task_options const& options, bulk& to) noexcept
      : parts_(with), options_(options), to_(to), chunk_(with.chunks, options, to) {}

  void add(launch const* first, std::size_t count) override;
  void add(memory_op const& what) override;
  detail::chunk_room begin_chunk(detail::launches_form const& form) override;
  void end_chunk(std::size_t items) override;

  /// Submits the items of the open chunk. Call it after the last item.
  void finish() { close(); }
  /// The number of items that were submitted.
  [[nodiscard]] std::size_t submitted() const noexcept { return submitted_; }

 private:
  /// The index of the next item.
  [[nodiscard]] std::size_t next() const noexcept {
    return submitted_ + (chunk_.is_open() ? chunk_.count() : 0);
  }
  /// @param required  The device that the arguments of an item require, if any.
  [[nodiscard]] bool may_have_chunks(std::optional<device_ordinal> required) const noexcept;
  /// Adds a launch to the open chunk, or to a new one. Returns false if the launch must be a task
  /// of its own.
  [[nodiscard]] bool add_to_chunk(launch const& what);
  /// Submits an item as a task of its own.
  template <class What>
  void submit_alone(What const& what);
  [[nodiscard]] bool begin(chunk_form const& form, extent const& grid, place const& to);
  void close();
  /// Calls `action`, and makes a bulk_error of an exception that means that the next item is wrong.
  template <class Action>
  auto refusing(Action const& action);
  [[noreturn]] void refuse(error const& why) const;

  parts const parts_;
  task_options const& options_;
  bulk& to_;
  chunk_builder chunk_;
  std::size_t submitted_ = 0;
  std::size_t alone_until_ = 0;  // submit the items before this index one by one
};

}  // namespace flotilla::dispatch

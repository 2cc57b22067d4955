// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One call: builds the request, sends it to the worker of the device, and reads the answer.

#include <cuda.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "isolation/channel/message.hpp"
#include "isolation/owner/isolated_device.hpp"
#include "isolation/owner/thread_state.hpp"

namespace flotilla::isolated {

class session {
 public:
  /// Begins a request. `context` is the object that must be current in the worker, or 0. `user` is
  /// the context on whose behalf the call is made: if it does not know the worker, the request is
  /// not sent. 0 for calls that any worker must get.
  session(isolated_device& on, operation what, std::uint32_t context, std::uint32_t user);
  session(isolated_device& on, operation what, std::uint32_t context)
      : session(on, what, context, context) {}
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// The room for the arguments.
  [[nodiscard]] message_writer& out() noexcept { return out_; }
  /// Adds a handle of an object, which the caller has checked.
  void put_object(std::uint32_t index) {
    uses_[used_ < max_uses ? used_++ : used_] = index;
    out_.put(index);
  }
  void put_objects(std::span<std::uint32_t const> indices);

  /// Keeps the request for the next launch of an executable. Call it with the lock of the device.
  [[nodiscard]] CUresult post();
  /// Sends the request. Marks the device as lost if the status is sticky.
  [[nodiscard]] CUresult send();
  /// The same for a request that puts work into a stream. If the worker ends before it answers, the
  /// work may be in the stream, and a GPU may still execute it. So the status is CUDA_SUCCESS, as
  /// for all work of a stream whose worker ends later. The next call finds the loss.
  [[nodiscard]] CUresult enqueue();
  [[nodiscard]] message_reader& in() noexcept { return in_; }
  /// The request, valid until the next session of this thread.
  [[nodiscard]] std::span<std::byte const> request() const noexcept { return out_.written(); }
  [[nodiscard]] std::vector<std::uint32_t> uses() const;
  /// The request and what it uses, for the journal.
  [[nodiscard]] record recorded() const;
  [[nodiscard]] std::uint32_t context() const noexcept { return context_; }

 private:
  static constexpr std::size_t max_uses = 8;

  isolated_device& on_;
  std::uint32_t context_;
  worker_process* worker_ = nullptr;
  int number_ = 0;
  CUresult missed_ = CUDA_SUCCESS;  // the status of a loss that the user does not know
  bool is_unanswered_ = false;
  std::unique_lock<std::mutex> lock_;
  message_writer out_;
  message_reader in_;
  std::array<std::uint32_t, max_uses + 1> uses_;
  std::size_t used_ = 0;
  std::vector<std::uint32_t> more_uses_;
};

/// Sends the changes that were posted. Call it with the lock of the device, before a call that must
/// come after them.
void send_posted(isolated_device& on);

}  // namespace flotilla::isolated

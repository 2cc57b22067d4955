// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One copy of data from one rank to another.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/host_box.hpp"
#include "dispatch/runtime/host_submitter.hpp"

namespace flotilla::cluster_ranks {

class network;

/// A transfer on one of its two ranks: a task that ends when the memory was read, or has its new
/// contents. Both ranks count the transfers of a flow between them in the same order, so the number
/// says which one it is.
class transfer final : public dispatch::pending_task {
 public:
  /// What both ranks must agree on.
  struct identity {
    std::uint32_t flow = 0;
    int peer = 0;
    std::uint64_t number = 0;
    std::uint32_t datum = 0;
    std::uint32_t version = 0;
  };

  /// @param data, task  What they are called in messages.
  transfer(network& through, bool sends, identity const& who, host_box const& memory,
           detail::reduction const* how, std::string_view data, std::string_view task)
      : through_(through),
        sends_(sends),
        who_(who),
        memory_(memory),
        how_(how),
        data_(data),
        task_(task) {}

  void begin(std::unique_ptr<pending_task> self) noexcept override;

  [[nodiscard]] bool sends() const noexcept { return sends_; }
  [[nodiscard]] identity const& who() const noexcept { return who_; }
  [[nodiscard]] host_box const& memory() const noexcept { return memory_; }
  /// Returns a number for the arrow in traces, which is the same on both ranks, and which other
  /// transfers of the cluster have only by chance. @param here  This rank.
  [[nodiscard]] std::uint64_t arrow_from(int here) const noexcept;
  /// Returns the data and the task, for messages.
  [[nodiscard]] std::string text() const {
    std::string const data = "data" + (data_.empty() ? " without a label" : " '" + data_ + "'");
    return task_.empty() ? data : data + " for task '" + task_ + "'";
  }

  /// Returns memory without gaps from which the bytes can be sent, or into which they can be
  /// received: the memory of the transfer itself, if possible.
  [[nodiscard]] std::byte* staging() {
    if (memory_.is_dense() && how_ == nullptr && why == nullptr) { return memory_.rows.first; }
    if (staged_.size() != memory_.bytes) {
      staged_.resize(memory_.bytes);
      if (sends_) { memory_.copy_to(staged_.data()); }
    }
    return staged_.data();
  }
  /// Gives the memory its contents. Does nothing if the transfer has failed.
  /// @param from  The bytes without gaps; may be `staging()`.
  void deliver(std::byte const* from) const {
    if (why != nullptr || from == memory_.rows.first) { return; }
    how_ == nullptr ? memory_.copy_from(from) : memory_.combine(*how_, from);
  }

  // The network uses these:
  std::shared_ptr<dispatch::failure const> why;  // why the task fails
  transfer* next = nullptr;                      // in the list of transfers that have begun
  std::size_t open_messages = 0;                 // of a large copy, that are on the way

 private:
  network& through_;
  bool const sends_;
  identity const who_;
  host_box const memory_;
  detail::reduction const* const how_;  // null: replaces the contents
  std::string const data_, task_;
  std::vector<std::byte> staged_;
};

}  // namespace flotilla::cluster_ranks

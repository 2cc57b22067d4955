// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ranks write into the messages that they exchange.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace flotilla::cluster_ranks {

/// Messages of records have this tag. Large copies have the tags 1 to transport::max_tag.
inline constexpr int record_tag = 0;
/// The longest message of records.
inline constexpr std::size_t max_message_bytes = 16384;
/// A copy of at most so many bytes travels inside its record.
inline constexpr std::size_t max_small_bytes = 4096;
/// A larger copy travels in messages of at most so many bytes.
inline constexpr std::size_t max_copy_bytes = std::size_t{1} << 30;

enum class record_kind : std::uint32_t {
  small,     // a copy; its bytes follow
  large,     // a copy, whose bytes travel in messages of their own, with the tag `tag`
  lost,      // the data do not exist because a task failed on rank `tag`; its error follows
  taken,     // the receiver has taken all transfers below `number`
  idle,      // the sender has reached round `tag` of its wait number `number`
  done,      // the sender has ended; this is its message number `number`, from 1
  ping,      // nothing; it shows whether the receiver is alive
  failed,    // as `done`, because the sender has failed; why follows
  ask_time,  // to rank 0, at the time `number` of the sender
  time,      // its answer: the same `number`, its own time `total`, and the run `large`
};

/// One item of a message. `bytes` bytes follow it, rounded up to 8.
struct record {
  record_kind kind{};
  std::uint32_t flow = 0;     // small, large, lost, taken: the flow, in the order of their creation
  std::uint64_t number = 0;   // of the transfer in the flow and from this sender to this receiver
  std::uint32_t datum = 0;    // the data that the sender copies, in the order of their creation
  std::uint32_t version = 0;  // of these data: how often tasks have changed them
  std::uint32_t bytes = 0;
  std::uint32_t tag = 0;
  std::uint64_t total = 0;  // the bytes of the copy
  std::uint64_t large = 0;  // large: how many large copies were sent to this rank before
};

/// Begins each message.
struct message_header {
  std::uint32_t magic = 0x464c'4f32;  // the protocol and its version
  std::uint32_t records = 0;
};

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

/// A message that records are appended to.
class message_writer {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] bool fits(std::size_t payload) const noexcept {
    std::size_t const used = is_empty() ? sizeof(message_header) : bytes_.size();
    return used + sizeof(record) + padded(payload) <= max_message_bytes;
  }
  /// Appends a record, whose `bytes` must be set. It must fit.
  /// @return where its bytes go.
  [[nodiscard]] std::byte* add(record const& what) {
    std::size_t const begin = is_empty() ? sizeof(message_header) : bytes_.size();
    bytes_.resize(begin + sizeof what + padded(what.bytes));
    message_header head;
    head.records = ++count_;
    std::memcpy(bytes_.data(), &head, sizeof head);
    std::memcpy(bytes_.data() + begin, &what, sizeof what);
    return bytes_.data() + begin + sizeof what;
  }
  /// Returns the message. The writer is empty afterwards, and reuses `spare`.
  [[nodiscard]] std::vector<std::byte> take(std::vector<std::byte>&& spare) noexcept {
    std::vector<std::byte> taken = std::move(bytes_);
    bytes_ = std::move(spare);
    bytes_.clear();
    count_ = 0;
    return taken;
  }

 private:
  std::vector<std::byte> bytes_;
  std::uint32_t count_ = 0;
};

/// Reads the records of a message.
class message_reader {
 public:
  struct item {
    record what;
    std::span<std::byte const> payload;
  };
  explicit message_reader(std::span<std::byte const> message) noexcept : rest_(message) {
    message_header head;
    if (rest_.size() < sizeof head) { return; }
    std::memcpy(&head, rest_.data(), sizeof head);
    if (head.magic != message_header{}.magic) { return; }
    left_ = head.records;
    rest_ = rest_.subspan(sizeof head);
    is_valid_ = true;
  }
  /// Returns the next record; nothing at the end, or if the message is not valid.
  [[nodiscard]] std::optional<item> next() noexcept {
    if (!is_valid_ || left_ == 0) { return std::nullopt; }
    item made{};
    is_valid_ = rest_.size() >= sizeof made.what;
    if (!is_valid_) { return std::nullopt; }
    std::memcpy(&made.what, rest_.data(), sizeof made.what);
    rest_ = rest_.subspan(sizeof made.what);
    is_valid_ = rest_.size() >= padded(made.what.bytes);
    if (!is_valid_) { return std::nullopt; }
    made.payload = rest_.first(made.what.bytes);
    rest_ = rest_.subspan(padded(made.what.bytes));
    --left_;
    return made;
  }
  /// Returns whether everything that was read so far is as a rank of this version writes it.
  [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }

 private:
  std::span<std::byte const> rest_;
  std::uint32_t left_ = 0;
  bool is_valid_ = false;
};

}  // namespace flotilla::cluster_ranks

#pragma once
// The order that the NULL stream imposes on the blocking streams of its context: it starts when all
// that was submitted to them before has ended, and they do not pass what was submitted to it
// before. Belongs to the device thread alone.

#include <cstdint>

#include "cpu_driver/operation.hpp"

namespace flotilla::cpu_driver {

class order_group {
 public:
  /// Numbers an operation in the order in which the context's streams got theirs.
  void arrive(stream& where, operation& made) noexcept;
  [[nodiscard]] bool may_start(stream const& asked, operation const& head) noexcept;
  /// After the head of `of` has been taken off. True when a stream that was held may now start.
  [[nodiscard]] bool complete(stream const& of) noexcept;
  /// The stream's last operation, which is still its head, ends with the stream.
  void leave(stream& gone) noexcept;

 private:
  [[nodiscard]] bool passes_legacy(operation const& head) const noexcept;
  [[nodiscard]] bool passes_blocking(operation const& head) const noexcept;

  std::uint64_t sequence_ = 0;
  std::uint64_t legacy_pending_ = 0;
  std::uint64_t blocking_pending_ = 0;
  bool holding_ = false;  // some stream was told to wait since the last completion
  stream* legacy_ = nullptr;
  stream* members_ = nullptr;  // blocking streams that ever had an operation
};

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A worker may write anything into the memory that it shares with its owner. The owner must neither
// crash nor read beyond the memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "isolation/channel/channel.hpp"
#include "isolation/channel/message.hpp"

using namespace flotilla::isolated;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const shared = std::make_unique<channel>();
  channel& one = *shared;
  std::memset(static_cast<void*>(&one), 0, sizeof one);
  // The words of the worker, and then its answer.
  std::memcpy(static_cast<void*>(&one.answered), data,
              std::min(size, sizeof one.answered + sizeof one.worker_sleeps + sizeof one.status +
                                 sizeof one.answer_bytes));
  std::memcpy(one.answer, data, std::min(size, sizeof one.answer));
  one.answered.store(1);  // otherwise the owner waits
  std::atomic<int> const lost{0};
  channel_caller end{one};
  std::array<std::byte, max_answer_bytes> answer;
  std::int32_t status = 0;
  std::size_t used = 0;
  if (!end.call(8, lost, answer, status, used)) { return 0; }
  message_reader in{std::span{answer}.first(used)};
  std::size_t total = 0;
  while (in.ok()) {
    total += in.get<std::uint32_t>();
    total += in.text().size();
    for (std::byte const each : in.bytes(in.get<std::uint8_t>())) {
      total += std::to_integer<unsigned>(each);
    }
  }
  return total == SIZE_MAX ? 1 : 0;
}

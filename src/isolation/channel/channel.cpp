// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/channel/channel.hpp"

#include <algorithm>
#include <cstring>

#include "isolation/channel/waiting.hpp"

namespace flotilla::isolated {

namespace {
// A sleeper looks at its condition again after this time, so a lost wake-up costs time only.
constexpr long max_sleep_ms = 100;
}  // namespace

bool channel_caller::call(std::size_t bytes, std::atomic<int> const& lost,
                          std::span<std::byte> into, std::int32_t& status, std::size_t& used,
                          clock::time_point until) noexcept {
  channel& on = *on_;
  on.request_bytes = static_cast<std::uint32_t>(bytes);
  std::uint32_t const number = ++last_;
  // seq_cst: the store and the load below pair with the store of `worker_sleeps` and the load of
  // `requested` in channel_server::wait. At least one side sees the other's word.
  on.requested.store(number);
  if (on.worker_sleeps.load() != 0) { wake(on.requested); }
  // acquire: pairs with the release in channel_server::answer.
  auto const has_answer = [&] { return on.answered.load(std::memory_order_acquire) == number; };
  auto const has_ended = [&] { return has_answer() || lost.load(std::memory_order_relaxed) != 0; };
  while (!poll(has_ended)) {
    std::uint32_t const before = on.answered.load();
    on.owner_sleeps.store(1);  // seq_cst: pairs with `answer`
    if (on.answered.load() == before && before != number && lost.load() == 0) {
      sleep_on(on.answered, before, max_sleep_ms);
    }
    on.owner_sleeps.store(0, std::memory_order_relaxed);
    if (clock::now() > until) { break; }
  }
  // An answer counts even if the worker is lost by now: the call has happened.
  if (!has_answer()) { return false; }
  status = on.status;
  std::size_t const found = on.answer_bytes;
  if (found > max_answer_bytes || found > into.size()) { return false; }
  std::memcpy(into.data(), on.answer, found);
  used = found;
  return true;
}

std::span<std::byte const> channel_server::wait() noexcept {
  channel& on = *on_;
  // acquire: pairs with the store of `requested` in channel_caller::call.
  auto const has_request = [&] { return on.requested.load(std::memory_order_acquire) != last_; };
  while (!poll(has_request)) {
    on.worker_sleeps.store(1);  // seq_cst: pairs with channel_caller::call
    if (on.requested.load() == last_) { sleep_on(on.requested, last_, max_sleep_ms * 10); }
    on.worker_sleeps.store(0, std::memory_order_relaxed);
  }
  last_ = on.requested.load(std::memory_order_acquire);
  std::size_t const bytes = std::min<std::size_t>(on.request_bytes, max_request_bytes);
  return {on.request, bytes};
}

void channel_server::answer(std::int32_t status, std::size_t bytes) noexcept {
  on_->status = status;
  on_->answer_bytes = static_cast<std::uint32_t>(bytes);
  on_->answered.store(last_);  // seq_cst: pairs with channel_caller::call
  if (on_->owner_sleeps.load() != 0) { wake(on_->answered); }
}

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/executor.hpp"

#include <algorithm>
#include <array>

namespace flotilla::isolated {

namespace {

handler find(operation what) noexcept {
  for (auto const table : {&generic_handler, &special_handler, &launch_handler, &graph_handler}) {
    if (handler const found = table(what)) { return found; }
  }
  return nullptr;
}

/// The handlers by the number of their operation.
auto const& all_handlers() {
  static auto const made = [] {
    std::array<handler, static_cast<std::size_t>(operation::count)> all{};
    for (std::size_t i = 0; i < all.size(); ++i) { all[i] = find(static_cast<operation>(i)); }
    return all;
  }();
  return made;
}

}  // namespace

CUresult executor::run(std::span<std::byte const> request, message_writer& out) {
  message_reader in{request};
  auto const head = in.get<request_head>();
  auto const& handlers = all_handlers();
  auto const number = static_cast<std::size_t>(head.what);
  if (!in.ok() || number >= handlers.size() || handlers[number] == nullptr) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  // acquire: pairs with the increment below. The owner calls with a new context after the old one
  // has ended.
  std::uint32_t const ended = parts_.ended_contexts.load(std::memory_order_acquire);
  if (head.context != current_ || ended != seen_ended_) {
    seen_ended_ = ended;
    current_ = 0;
    auto const wanted = parts_.objects.get<CUcontext>(head.context);
    CUresult const answer = parts_.api.ctx_set_current(wanted);
    if (answer != CUDA_SUCCESS) { return answer; }
    current_ = head.context;
  }
  CUresult const answer = handlers[number](parts_, in, out);
  // These two change what is current. Forget it, so that the next request sets it again.
  if (head.what == operation::ctx_create || head.what == operation::ctx_destroy) {
    parts_.api.ctx_set_current(nullptr);
    current_ = 0;
    parts_.ended_contexts.fetch_add(1, std::memory_order_release);
  }
  return out.ok() ? answer : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace flotilla::isolated

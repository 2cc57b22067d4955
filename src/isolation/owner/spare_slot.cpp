// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/spare_slot.hpp"

#include <utility>

namespace flotilla::isolated {

namespace {

constexpr char hangs[] = "the process that stood by was needed and was not ready";

bool is_alive(std::optional<replica> const& one) {
  return one.has_value() && one->worker()->lost().load() == 0;
}

}  // namespace

bool spare_slot::begin_tending(std::optional<replica>& out) {
  std::lock_guard const lock{mutex_};
  if (is_tended_) { return false; }
  is_tended_ = true;
  is_given_up_ = false;
  out = std::exchange(spare_, std::nullopt);
  if (!is_alive(out)) { out.reset(); }
  if (out) { process_ = out->worker(); }
  return true;
}

void spare_slot::tend(std::shared_ptr<worker_process> process) {
  std::lock_guard const lock{mutex_};
  process_ = std::move(process);
  if (is_given_up_) { process_->lose(CUDA_ERROR_LAUNCH_FAILED, hangs); }
}

void spare_slot::end_tending(std::optional<replica> spare) {
  std::lock_guard const lock{mutex_};
  is_tended_ = false;
  process_.reset();
  spare_ = std::move(spare);
  tended_.notify_all();
}

std::optional<replica> spare_slot::take(std::chrono::milliseconds limit) {
  std::unique_lock lock{mutex_};
  if (!tended_.wait_for(lock, limit, [this] { return !is_tended_; })) {
    is_given_up_ = true;
    if (process_ != nullptr) { process_->lose(CUDA_ERROR_LAUNCH_FAILED, hangs); }
    return std::nullopt;
  }
  std::optional<replica> found = std::exchange(spare_, std::nullopt);
  if (!is_alive(found)) { found.reset(); }
  return found;
}

void spare_slot::put_back(std::optional<replica> spare) {
  std::lock_guard const lock{mutex_};
  // If the keeper has started another one meanwhile, one of the two ends.
  if (!spare_ && !is_tended_) { spare_ = std::move(spare); }
}

bool spare_slot::is_ready() const {
  std::lock_guard const lock{mutex_};
  return is_alive(spare_);
}

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pin.hpp"

#include <string>
#include <system_error>
#include <utility>

#include "base/refusal.hpp"
#include "base/thread_objects.hpp"

namespace flotilla::base {

namespace {
// The mask that this thread had before a thread_pin restricted it. Null if no thread_pin did.
thread_local constinit processor_mask const* unrestricted = nullptr;
}  // namespace

void thread_pin::move_to(processor_mask const& processors) noexcept {
  if (!own_) { own_ = processor_mask::of_thread(0); }
  if (!own_) { return; }
  processor_mask const allowed = processors.both(*own_);
  if (!allowed.empty() && allowed.apply_to_this_thread()) { unrestricted = &*own_; }
}

thread_pin::~thread_pin() {
  if (!own_ || unrestricted != &*own_) { return; }
  own_->apply_to_this_thread();
  unrestricted = nullptr;
}

std::thread start_thread(std::function<void()> body) try {
  if (unrestricted == nullptr) {
    return std::thread{[body = std::move(body)] {
      library_thread const self;
      body();
    }};
  }
  return std::thread{[mask = *unrestricted, body = std::move(body)] {
    library_thread const self;
    mask.apply_to_this_thread();
    body();
  }};
} catch (std::system_error const& refused) {
  throw std::system_error(refused.code(),
                          "no thread could be started" + limits_text(limits_of_threads));
}

}  // namespace flotilla::base

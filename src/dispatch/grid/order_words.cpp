// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/order_words.hpp"

#include <algorithm>
#include <new>

namespace flotilla::dispatch {

order_words::words* order_words::of(registered_slabs::piece const& piece) noexcept {
  CUdeviceptr const memory = memory_.of(piece, bytes);
  if (memory == 0) { return nullptr; }
  auto const found = std::find_if(all_.begin(), all_.end(),
                                  [&](auto const& each) { return each->memory == memory; });
  if (found != all_.end()) { return found->get(); }
  try {
    all_.push_back(std::make_unique<words>());
  } catch (std::bad_alloc const&) { return nullptr; }
  all_.back()->memory = memory;
  return all_.back().get();
}

void order_words::destroy() noexcept {
  memory_.destroy();
  all_.clear();
}

}  // namespace flotilla::dispatch

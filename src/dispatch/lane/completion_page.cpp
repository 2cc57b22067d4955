// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/completion_page.hpp"

namespace flotilla::dispatch {

completion_page::completion_page(context::context_handle const& context, unsigned lanes,
                                 std::uint64_t first_number)
    : lanes_(lanes),
      memory_(context, ((lanes + 1) * stride + lanes * max_batches) * sizeof(std::uint64_t)),
      numbers_(reinterpret_cast<std::uint64_t*>(memory_.host())),
      beside_next_(lanes) {
  for (unsigned lane = 0; lane < lanes; ++lane) { numbers_[lane * stride] = first_number; }
}

void completion_page::raise(unsigned lane, std::uint64_t number) noexcept {
  std::atomic_ref<std::uint64_t> const counter{numbers_[lane * stride]};
  std::uint64_t seen = counter.load(std::memory_order_relaxed);
  // release: pairs with the acquire in number
  while (seen < number && !counter.compare_exchange_weak(seen, number, std::memory_order_release)) {
  }
}

CUdeviceptr completion_page::clear_status(unsigned lane, std::uint64_t number) noexcept {
  std::size_t const index = status_index(lane, number);
  // relaxed: the launch of the kernel orders this store before the kernel's store
  std::atomic_ref<std::uint64_t>{numbers_[index]}.store(0, std::memory_order_relaxed);
  return memory_.device() + index * sizeof(std::uint64_t);
}

}  // namespace flotilla::dispatch

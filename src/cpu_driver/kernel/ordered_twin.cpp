// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/ordered_twin.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

#include <flotilla/detail/ordered_twin.hpp>

#include "base/pause.hpp"
#include "cpu_driver/kernel/twin.hpp"

namespace flotilla::cpu_driver {
namespace {

template <class T>
T* pointer(void* const* arguments, std::size_t index) noexcept {
  return reinterpret_cast<T*>(twin_argument<std::uint64_t>(arguments, index));
}
// Places of the members in ordered_twin_parameters.
constexpr std::size_t orders = 4, edges = 5, wave_ends = 6, words = 7, counter = 8,
                      first_number = 9, numbered_waves = 11, stop = 12;

std::atomic_ref<std::uint32_t> ended_blocks(detail::twin_words* of, std::uint32_t launch) noexcept {
  auto* const first = reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(of) +
                                                       detail::twin_words_header_bytes);
  return std::atomic_ref{first[launch]};
}

}  // namespace

bool is_ordered_twin(cpu::kernel_record const& record) noexcept {
  return record.parameter_sizes == std::data(detail::ordered_twin_parameter_sizes);
}

block_go wait_for_launches(void* const* arguments, std::uint32_t block,
                           std::atomic<grid_end> const& end) noexcept {
  constexpr unsigned looks_before_yield = 64;
  auto const must_stop = [&] {
    // relaxed: this thread only stops
    if (end.load(std::memory_order_relaxed) != grid_end::completed) { return true; }
    std::atomic_ref const stopped{*pointer<std::uint64_t>(arguments, stop)};
    return stopped.load(std::memory_order_relaxed) != 0;
  };
  auto& order = pointer<detail::twin_order>(arguments, orders)[find_launch(arguments, block)];
  // acquire: the host decides after it has launched the grids that wait for each other
  std::uint32_t flags = 0;
  while (((flags = std::atomic_ref{order.flags}.load(std::memory_order_acquire)) &
          detail::twin_order::undecided) != 0) {
    if (must_stop()) { return block_go::stop; }
    std::this_thread::yield();
  }
  if ((flags & detail::twin_order::skipped) != 0) { return block_go::skip; }
  auto const* const all = pointer<detail::twin_edge const>(arguments, edges) + order.first_edge;
  for (detail::twin_edge const* edge = all; edge != all + order.edges; ++edge) {
    std::atomic_ref const word{*reinterpret_cast<std::uint32_t*>(edge->word)};
    auto const has_ended = [&] {
      // acquire: pairs with the release in note_block_ended
      return static_cast<std::int32_t>(word.load(std::memory_order_acquire) - edge->ended) >= 0;
    };
    for (unsigned looks = 0; !has_ended(); ++looks) {
      if (must_stop()) { return block_go::stop; }
      looks < looks_before_yield ? base::pause() : std::this_thread::yield();
    }
  }
  return block_go::run;
}

void note_block_ended(void* const* arguments, std::uint32_t block) noexcept {
  auto* const state = pointer<detail::twin_words>(arguments, words);
  std::uint32_t const launch = find_launch(arguments, block);
  // release: pairs with the acquire in wait_for_launches
  ended_blocks(state, launch).fetch_add(1, std::memory_order_release);
  auto const* const ends = pointer<std::uint32_t const>(arguments, wave_ends);
  auto const numbered = twin_argument<std::uint32_t>(arguments, numbered_waves);
  std::uint32_t wave = pointer<detail::twin_order const>(arguments, orders)[launch].wave;
  for (; wave < numbered; ++wave) {
    // acq_rel: the store below also releases what the other blocks of the wave have written
    std::uint32_t const ended =
        std::atomic_ref{state->waves[wave]}.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (ended != ends[wave]) { return; }
    std::atomic_ref{*pointer<std::uint64_t>(arguments, counter)}.store(
        twin_argument<std::uint64_t>(arguments, first_number) + wave, std::memory_order_release);
  }
}

}  // namespace flotilla::cpu_driver

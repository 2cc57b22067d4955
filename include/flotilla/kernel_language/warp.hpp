// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operations of a warp. Each operation is one `warp_step`: every lane passes a record, and after
/// all lanes have arrived, one function computes the results in all records.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <flotilla/kernel_language/indices.hpp>

namespace flotilla::cpu::language {

inline void warp_step(unsigned mask, void* record, warp_completion complete) {
  auto* s = services();
  s->warp_step(s, mask, record, complete);
}

/// Calls `each(number, record)` with the number and the record of each lane in `taking_part`.
template <class Record, class Each>
void for_lanes(void* const* lanes, std::uint32_t taking_part, Each each) {
  for (unsigned i = 0; i < warp_lanes; ++i) {
    if (taking_part >> i & 1u) { each(i, *static_cast<Record*>(lanes[i])); }
  }
}

struct exchange_lane {
  std::uint64_t give, get;
  int source;
};

/// Gives each lane the value of its source lane. If the source lane does not take part, the lane
/// gets its own value. (In CUDA the result is undefined in this case.)
inline void complete_exchange(void* const* lanes, std::uint32_t taking_part) {
  for_lanes<exchange_lane>(lanes, taking_part, [&](unsigned, exchange_lane& to) {
    bool const present = to.source >= 0 && (taking_part >> to.source & 1u) != 0;
    to.get = present ? static_cast<exchange_lane*>(lanes[to.source])->give : to.give;
  });
}

template <class T>
T exchange(unsigned mask, T value, int source) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "__shfl_*_sync takes an arithmetic type of at most 8 bytes");
  exchange_lane record{0, 0, source};
  std::memcpy(&record.give, &value, sizeof value);
  warp_step(mask, &record, &complete_exchange);
  std::memcpy(&value, &record.get, sizeof value);
  return value;
}

struct ballot_lane {
  bool predicate;
  std::uint32_t votes;
};

inline void complete_ballot(void* const* lanes, std::uint32_t taking_part) {
  std::uint32_t votes = 0;
  for_lanes<ballot_lane>(lanes, taking_part, [&](unsigned i, ballot_lane& l) {
    votes |= static_cast<std::uint32_t>(l.predicate) << i;
  });
  for_lanes<ballot_lane>(lanes, taking_part, [&](unsigned, ballot_lane& l) { l.votes = votes; });
}

inline void complete_nothing(void* const*, std::uint32_t) {}

struct match_lane {
  std::uint64_t value;
  std::uint32_t equal, taking_part;
};

inline void complete_match(void* const* lanes, std::uint32_t taking_part) {
  for_lanes<match_lane>(lanes, taking_part, [&](unsigned, match_lane& mine) {
    mine.equal = 0;
    mine.taking_part = taking_part;
    for_lanes<match_lane>(lanes, taking_part, [&](unsigned i, match_lane& other) {
      mine.equal |= static_cast<std::uint32_t>(mine.value == other.value) << i;
    });
  });
}

template <class T>
match_lane match(unsigned mask, T value) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "__match_*_sync takes an arithmetic type of at most 8 bytes");
  match_lane record{0, 0, 0};
  std::memcpy(&record.value, &value, sizeof value);
  warp_step(mask, &record, &complete_match);
  return record;
}

template <class T>
struct reduce_lane {
  T value;
};

template <class T, class Combine>
void complete_reduce(void* const* lanes, std::uint32_t taking_part) {
  bool first = true;
  T result{};
  for_lanes<reduce_lane<T>>(lanes, taking_part, [&](unsigned, reduce_lane<T>& l) {
    result = first ? l.value : Combine{}(result, l.value);
    first = false;
  });
  for_lanes<reduce_lane<T>>(lanes, taking_part,
                            [&](unsigned, reduce_lane<T>& l) { l.value = result; });
}

template <class T, class Combine>
T reduce(unsigned mask, T value) {
  reduce_lane<T> record{value};
  warp_step(mask, &record, &complete_reduce<T, Combine>);
  return record.value;
}

}  // namespace flotilla::cpu::language

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  char nothing{};
  flotilla::cpu::language::warp_step(mask, &nothing, &flotilla::cpu::language::complete_nothing);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  int const own = static_cast<int>(flotilla::cpu::language::lane());
  return flotilla::cpu::language::exchange(mask, value, (own & -width) | (source & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  int const own = static_cast<int>(flotilla::cpu::language::lane());
  int const source = own - static_cast<int>(delta);
  return flotilla::cpu::language::exchange(mask, value, source < (own & -width) ? own : source);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  int const own = static_cast<int>(flotilla::cpu::language::lane());
  int const source = own + static_cast<int>(delta);
  return flotilla::cpu::language::exchange(mask, value,
                                           source >= (own & -width) + width ? own : source);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {
  int const own = static_cast<int>(flotilla::cpu::language::lane());
  int const source = own ^ lane_mask;
  // As in CUDA, a lane can read lanes of earlier groups of `width` lanes, but not of later groups.
  return flotilla::cpu::language::exchange(mask, value,
                                           source >= (own & -width) + width ? own : source);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  flotilla::cpu::language::ballot_lane record{predicate != 0, 0};
  flotilla::cpu::language::warp_step(mask, &record, &flotilla::cpu::language::complete_ballot);
  return record.votes;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate == 0) == 0;
}

/// Returns only the calling lane, because the lanes of a warp do not run in lockstep on a CPU
/// device. CUDA does not guarantee that the result contains other lanes either.
inline unsigned __activemask() { return 1u << flotilla::cpu::language::lane(); }

template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  return flotilla::cpu::language::match(mask, value).equal;
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all_equal) {
  auto const found = flotilla::cpu::language::match(mask, value);
  *all_equal = found.equal == found.taking_part;
  return *all_equal ? found.taking_part : 0u;
}

#define FLOTILLA_WARP_REDUCE(name, type, expression)                             \
  inline type name(unsigned mask, type value) {                                  \
    using combine = decltype([](type a, type b) -> type { return expression; }); \
    return flotilla::cpu::language::reduce<type, combine>(mask, value);          \
  }
FLOTILLA_WARP_REDUCE(__reduce_add_sync, unsigned, a + b)
FLOTILLA_WARP_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
FLOTILLA_WARP_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
FLOTILLA_WARP_REDUCE(__reduce_add_sync, int,
                     static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
FLOTILLA_WARP_REDUCE(__reduce_min_sync, int, a < b ? a : b)
FLOTILLA_WARP_REDUCE(__reduce_max_sync, int, a < b ? b : a)
FLOTILLA_WARP_REDUCE(__reduce_and_sync, unsigned, a& b)
FLOTILLA_WARP_REDUCE(__reduce_or_sync, unsigned, a | b)
FLOTILLA_WARP_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef FLOTILLA_WARP_REDUCE

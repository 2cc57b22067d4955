// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bursts of small copies and fills, whose results are checked byte by byte. The contract tests run
// them on all devices. The unit tests run them on CPU devices whose copies are kernels.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/kernels.hpp"

namespace flotilla::test::small_copies {

using bytes = std::uint8_t;

/// Returns the byte at `i` of a pattern that does not repeat soon.
[[nodiscard]] inline bytes pattern(std::size_t i, unsigned seed = 0) {
  return static_cast<bytes>((i * 31 + (i >> 8) * 17 + (i >> 16) * 5 + seed * 101 + 7) % 251);
}
inline constexpr bytes untouched = 0xee;  // the pattern does not contain it

/// Offsets of every alignment up to 16 bytes, and some in between.
inline constexpr std::array<std::size_t, 8> offsets{0, 1, 2, 3, 4, 8, 11, 16};

/// Submits one chain for each pair of offsets: a copy to a device, one to other memory of the same
/// or another device, and one to the host. Source and destination of the first and the last copy
/// have different offsets. Checks every byte, and that no byte beside them has changed.
inline void copy_with_every_offset(runtime& rt, device_ordinal device, device_ordinal other,
                                   std::size_t size) {
  std::size_t const room = (size + 63) / 16 * 16;
  std::size_t const pairs = offsets.size() * offsets.size();
  host_buffer<bytes> up{rt, pairs * room}, down{rt, pairs * room};
  device_buffer<bytes> there{rt, device, pairs * room}, beyond{rt, other, pairs * room};
  for (std::size_t i = 0; i < up.size(); ++i) { up[i] = pattern(i); }
  std::fill(down.begin(), down.end(), untouched);
  ticket const clean = rt.submit(there.fill(untouched));
  ticket const clean_too = rt.submit(beyond.fill(untouched));
  std::vector<ticket> last;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::size_t const from = i * room + offsets[i / offsets.size()];
    std::size_t const to = i * room + offsets[i % offsets.size()];
    ticket const sent =
        rt.submit(there.subspan(to, size).copy_from(up.subspan(from, size)), {.after = {clean}});
    ticket const moved = rt.submit(there.subspan(to, size).copy_to(beyond.subspan(from, size)),
                                   {.after = {sent, clean_too}});
    last.push_back(
        rt.submit(beyond.subspan(from, size).copy_to(down.subspan(to, size)), {.after = {moved}}));
  }
  for (ticket const& each : last) { each.wait(); }
  for (std::size_t i = 0; i < pairs; ++i) {
    std::size_t const from = offsets[i / offsets.size()];
    std::size_t const to = offsets[i % offsets.size()];
    for (std::size_t at = 0; at < room; ++at) {
      bool const is_inside = at >= to && at < to + size;
      bytes const expected = is_inside ? pattern(i * room + from + at - to) : untouched;
      ASSERT_EQ(down[i * room + at], expected)
          << size << " bytes from offset " << from << " to offset " << to << ", byte " << at;
    }
  }
}

template <std::size_t Bytes>
struct value_of {
  std::array<bytes, Bytes> byte;
};

/// Fills parts of different sizes and alignments with a value of `Bytes` bytes. Checks every byte.
template <std::size_t Bytes>
void fill_with_value_of(runtime& rt, device_ordinal device, std::size_t max_bytes) {
  value_of<Bytes> value;
  for (std::size_t i = 0; i < Bytes; ++i) { value.byte[i] = pattern(i, Bytes); }
  std::vector<std::size_t> counts{1, 2, 3, 17, 100};
  counts.push_back(std::max<std::size_t>(max_bytes / Bytes, 1));
  std::size_t const room = *std::max_element(counts.begin(), counts.end()) + 20;
  std::size_t const fills = counts.size() * 16;
  device_buffer<value_of<Bytes>> there{rt, device, fills * room};
  host_buffer<value_of<Bytes>> back{rt, fills * room};
  value_of<Bytes> clean;
  clean.byte.fill(untouched);
  ticket const cleaned = rt.submit(there.fill(clean));
  std::vector<ticket> filled;
  for (std::size_t i = 0; i < fills; ++i) {
    std::size_t const offset = i * room + i % 16;
    filled.push_back(
        rt.submit(there.subspan(offset, counts[i / 16]).fill(value), {.after = {cleaned}}));
  }
  for (ticket const& each : filled) { each.wait(); }
  rt.submit(there.copy_to(back)).wait();
  for (std::size_t i = 0; i < fills; ++i) {
    for (std::size_t at = 0; at < room; ++at) {
      bool const is_inside = at >= i % 16 && at < i % 16 + counts[i / 16];
      ASSERT_EQ(back[i * room + at].byte, is_inside ? value.byte : clean.byte)
          << counts[i / 16] << " values of " << Bytes << " bytes at index " << i % 16 << ", value "
          << at;
    }
  }
}

template <std::size_t... Bytes>
void fill_with_values_of(runtime& rt, device_ordinal device, std::size_t max_bytes) {
  (fill_with_value_of<Bytes>(rt, device, max_bytes), ...);
}

/// Submits chunks of `count` words: a copy to the device, a kernel that increments each word, and a
/// copy back, ordered with `after`. Checks every word.
inline void pipeline(runtime& rt, test_program const& program, device_ordinal device,
                     unsigned chunks, unsigned count, unsigned rounds = 1) {
  auto const increment = program.loaded.kernel<std::uint32_t*, std::uint32_t>("increment_all");
  host_buffer<std::uint32_t> up{rt, std::size_t{chunks} * count}, down{rt, up.size()};
  device_buffer<std::uint32_t> there{rt, device, up.size()};
  std::vector<ticket> before(chunks);
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < up.size(); ++i) {
      up[i] = static_cast<std::uint32_t>(i * 7 + round);
    }
    std::vector<ticket> done;
    for (unsigned i = 0; i < chunks; ++i) {
      std::size_t const at = std::size_t{i} * count;
      auto const part = there.subspan(at, count);
      ticket const sent = rt.submit(part.copy_from(up.subspan(at, count)));
      ticket const ran = rt.submit(increment.with_shape({(count + 127) / 128}, {128})(part, count),
                                   {.after = {sent}});
      done.push_back(rt.submit(part.copy_to(down.subspan(at, count)), {.after = {ran}}));
    }
    for (ticket const& each : done) { each.wait(); }
    for (std::size_t i = 0; i < down.size(); ++i) {
      ASSERT_EQ(down[i], up[i] + 1) << "word " << i << " of round " << round;
    }
  }
}

}  // namespace flotilla::test::small_copies

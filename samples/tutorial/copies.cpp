// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Moves numbers from the host to a device, to another device, and back.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <flotilla/flotilla.hpp>

int main() {
  constexpr std::size_t n = 1000;
  flotilla::runtime rt;
  flotilla::device const& first = rt.devices().front();
  flotilla::device const& last = rt.devices().back();  // the same device if there is only one

  // Pageable memory, such as that of a std::vector, is copied piece by piece through pinned memory
  // of the runtime. A host_buffer is pinned memory, so devices copy it directly.
  std::vector<int> const ones(n / 2, 1);
  flotilla::host_buffer<int> result{rt, n};

  // A fill and a copy to different parts of a buffer. They have no order, and need none.
  flotilla::device_buffer<int> here{rt, first, n};
  flotilla::ticket const low = rt.submit(here.subspan(0, n / 2).copy_from(ones));
  flotilla::ticket const high = rt.submit(here.subspan(n / 2).fill(2));

  // A copy from device to device needs both parts.
  flotilla::device_buffer<int> there{rt, last, n};
  flotilla::ticket const moved = rt.submit(there.span().copy_from(here), {.after = {low, high}});

  // A buffer may be destroyed while tasks use it. The memory is freed after these tasks.
  here = {};

  rt.submit(there.copy_to(result), {.after = {moved}}).wait();

  auto const count = [&](int value) { return std::count(result.begin(), result.end(), value); };
  std::printf("%td ones and %td twos\n", count(1), count(2));
  return count(1) == n / 2 && count(2) == n / 2 ? 0 : 1;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Adds a number of its own to each row of a table, with one task for each row.
#include <cstddef>
#include <cstdio>
#include <tuple>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tutorial_kernels.hpp"

int main() {
  constexpr int rows = 500, columns = 100;
  flotilla::runtime rt;
  flotilla::device const& device = rt.devices()[0];
  auto const increase = rt.load(tutorial_kernels).kernel(tutorial_kernels.increase);

  std::vector<int> table(rows * columns);
  flotilla::device_buffer<int> on_device{rt, device, table};
  auto const row = [&](std::size_t i) { return on_device.subspan(i * columns, columns); };

  // The arguments of each launch, as a range of tuples. One ticket stands for all launches.
  std::vector<std::tuple<flotilla::device_span<int>, int, int>> arguments;
  for (std::size_t i = 0; i < rows; ++i) {
    arguments.emplace_back(row(i), static_cast<int>(i), columns);
  }
  flotilla::ticket const first = rt.submit(flotilla::bulk(increase.over(columns), arguments));

  // The same with a function of the index, which needs no vector. The tasks of the second bulk run
  // after all tasks of the first one.
  auto const arguments_of = [&](std::size_t i) { return std::tuple{row(i), 1000, columns}; };
  flotilla::ticket const second =
      rt.submit(flotilla::bulk(increase.over(columns), rows, arguments_of), {.after = {first}});

  rt.submit(on_device.copy_to(table), {.after = {second}}).wait();

  int wrong = 0;
  for (int i = 0; int const number : table) { wrong += number != i++ / columns + 1000; }
  std::printf("%d rows, %d numbers wrong\n", rows, wrong);
  return wrong == 0 ? 0 : 1;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Frees the memory of a copy too early: before the copy is submitted, or before it is performed.

#include <cstring>
#include <latch>
#include <memory>
#include <span>
#include <vector>

#include <flotilla/flotilla.hpp>

int main(int, char** arguments) {
  bool const is_late = std::strcmp(arguments[1], "late") == 0;
  bool const is_up = std::strcmp(arguments[2], "up") == 0;
  flotilla::runtime rt;
  flotilla::device_buffer<float> values{rt, rt.devices()[0], 1000};
  auto memory = std::make_unique<std::vector<float>>(1000);
  std::span<float> const span{*memory};
  std::latch go{1};
  auto const held = rt.submit(flotilla::host_task([&] { go.wait(); }));
  if (!is_late) { memory.reset(); }
  auto const copy = is_up ? values.copy_from(span) : values.copy_to(span);
  auto const task = rt.submit(copy, {.after = {held}});
  memory.reset();
  go.count_down();
  task.wait();
}

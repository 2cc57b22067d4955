// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Describes three tasks once, and runs them a hundred times.
#include <cstdio>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tutorial_kernels.hpp"

int main() {
  constexpr int n = 1000, replays = 100;
  flotilla::runtime rt;
  flotilla::device const& device = rt.devices()[0];
  flotilla::program const program = rt.load(tutorial_kernels);
  auto const increase = program.kernel(tutorial_kernels.increase);
  auto const add = program.kernel(tutorial_kernels.add);

  flotilla::device_buffer<int> step{rt, device, n}, total{rt, device, n};
  rt.submit(total.fill(0)).wait();

  // `add` only describes the tasks. The names that it returns are the predecessors in `after`.
  flotilla::recording steps{rt};
  flotilla::recorded_task const cleared = steps.add(step.fill(1));
  flotilla::recorded_task const increased =
      steps.add(increase.over(n)(step, 1, n), {.after = {cleared}});
  steps.add(add.over(n)(total, step, total, n), {.after = {increased}});

  // Each replay submits all tasks, as one CUDA graph for each device. Replays of one recording run
  // one after the other.
  flotilla::ticket last;
  for (int i = 0; i < replays; ++i) { last = steps.replay(); }

  // Later replays get other arguments. Replays that were submitted before keep theirs.
  steps.set(increased, increase.over(n)(step, 9, n));
  for (int i = 0; i < replays; ++i) { last = steps.replay(); }

  std::vector<int> result(n);
  rt.submit(total.copy_to(result), {.after = {last}}).wait();

  int const expected = replays * (1 + 1) + replays * (1 + 9);
  int wrong = 0;
  for (int const each : result) { wrong += each != expected; }
  std::printf("%d replays: the total is %d, %d numbers wrong\n", 2 * replays, result[0], wrong);
  return wrong == 0 ? 0 : 1;
}

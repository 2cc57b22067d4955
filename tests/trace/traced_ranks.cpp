// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Two ranks in one process, each with a runtime, which FLOTILLA_TRACE traces into two files. Data
// move from rank to rank: task I runs on rank I % 2, and is called "step I".
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/loop_transport.hpp>

namespace {

void run(flotilla::testing::loop& ranks, int rank) {
  using namespace flotilla;
  runtime rt{{.devices = "cpu:1"}};
  cluster all{rt, ranks.rank(rank)};
  // Until rank 0 has answered, the trace of rank 1 does not know the time of rank 0. Most of these
  // messages are answers.
  constexpr std::uint64_t messages = 16;
  while (rank != 0 && all.counters().messages_received < messages) { rt.pump(); }
  all.run([&] {
    flow over{all};
    data<std::uint32_t> x{over, {4}, "x"};
    over.post(uses(write(x)), host_task([](view<std::uint32_t> out) { out(0) = 0; }),
              {.label = "step 0"});
    for (int i = 1; i < 6; ++i) {
      over.post(uses(update(x)), host_task([](view<std::uint32_t> out) { ++out(0); }),
                {.label = "step " + std::to_string(i), .rank = i % 2});
    }
    all.wait_idle();
  });
}

}  // namespace

int main() {
  flotilla::testing::loop ranks{2};
  try {
    std::thread other{[&] { run(ranks, 1); }};
    run(ranks, 0);
    other.join();
  } catch (std::exception const& why) {
    std::fprintf(stderr, "traced_ranks: %s\n", why.what());
    return 1;
  }
  std::puts("done");
  return 0;
}

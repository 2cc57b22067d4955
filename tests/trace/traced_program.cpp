// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Submits tasks for the tests of traces. On each device it fills a buffer with a copy, and then
// does this `rounds` times: a launch, two launches after it, and a copy after both. The last task
// is a callable. FLOTILLA_TRACE traces them. With a second argument, there are callables with
// unusual labels, too.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/kernels.hpp"

int main(int count, char** arguments) {
  using flotilla::ticket;
  int const rounds = count > 1 ? std::atoi(arguments[1]) : 5;
  try {
    // Without reports of slow callables, because check_tool.py compares what is written to stderr.
    flotilla::runtime rt{{.report_calls_longer_than = std::chrono::milliseconds{0}}};
    flotilla::test::test_program const program{rt};
    for (flotilla::device const& device : rt.devices()) {
      flotilla::device_buffer<std::uint32_t> words{rt, device, std::vector<std::uint32_t>(3)};
      flotilla::host_buffer<std::uint32_t> back{rt, 3};
      for (int i = 0; i < rounds; ++i) {
        std::string const round = std::to_string(i);
        auto const write = [&](std::size_t word, flotilla::dependency_list after,
                               std::string const& label) {
          return rt.submit(program.write.with_shape({1}, {1})(words.subspan(word, 1), 7u),
                           {.device = device, .label = label, .after = std::move(after)});
        };
        ticket const first = write(0, {}, "first " + round);
        ticket const left = write(1, {first}, "left " + round);
        ticket const right = write(2, {first}, "right " + round);
        ticket const down = rt.submit(words.copy_to(back), {.after = {left, right}});
        down.wait();
      }
    }
    rt.submit(flotilla::callable{[](flotilla::task_context&) {}}, {.label = "call"}).wait();
    if (count > 2) {
      // Labels that formats must not take as they are.
      for (std::string const& label :
           {std::string{"<&\"'>]]>"}, std::string{"\x01\x1b\n\x7f"}, std::string{"\xff\xc3("},
            std::string{"\xed\xa0\x80\xef\xbf\xbe"}, std::string{"gr\xc3\xbc\xc3\x9f"},
            std::string(254, 'x') + "\xc3\xbc", std::string(100'000, 'y')}) {
        rt.submit(flotilla::callable{[](flotilla::task_context&) {}}, {.label = label}).wait();
      }
    }
  } catch (std::exception const& why) {
    std::fprintf(stderr, "traced_program: %s\n", why.what());
    return 1;
  }
  std::puts("done");
  return 0;
}

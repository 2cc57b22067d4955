// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task cost in a long chain of empty tasks, each of which depends on the
//           previous task?
// Control:  the same number of launches into one stream, which runs them in the same order.

#include "bench_suite.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

void add_chain(bench_suite& suite) {
  std::int64_t const tasks = suite.amount().chain;
  figure_tags tags{.who = "flotilla", .what = "chain", .backlog = tasks};
  suite.measure("flotilla, chain", tags, [=](figure&) {
    auto& fixture = get_fixture<runtime_fixture>({});
    auto const start = clock::now();
    ticket last = fixture.rt.submit(fixture.null_launch);
    for (std::int64_t i = 1; i < tasks; ++i) {
      last = fixture.rt.submit(fixture.null_launch, {.after = {last}});
    }
    last.wait();
    return ns_each(start, tasks);
  });
  tags.who = "raw launches";
  suite.measure("raw launches, chain", tags, [=](figure&) {
    auto& plain = get_fixture<plain_driver>({});
    auto const start = clock::now();
    plain.launch_all(0, tasks);
    plain.synchronize_all(0);
    return ns_each(start, tasks);
  });
  suite.compare({.id = "chain",
                 .subject = "flotilla, chain",
                 .control = "launches into one stream",
                 .controls = {"raw launches, chain"},
                 .max_value = 750});
}

}  // namespace flotilla::bench

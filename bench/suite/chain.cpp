// Question: what does a task cost that depends on the one before, in a long chain of empty ones?
// Control:  as many launches into one stream, which keeps the same order.

#include "fleet.hpp"
#include "plain_driver.hpp"
#include "suite.hpp"

namespace flotilla::bench {

void add_chain(suite& to) {
  std::int64_t const tasks = to.amount().chain;
  figure_tags tags{.who = "flotilla", .what = "chain", .backlog = tasks};
  to.measure("flotilla, chain", tags, [=](figure&) {
    auto& ships = rig_for<fleet>({});
    auto const start = clock::now();
    ticket last = ships.rt.submit(ships.null);
    for (std::int64_t i = 1; i < tasks; ++i) {
      last = ships.rt.submit(ships.null, {.after = {last}});
    }
    last.wait();
    return ns_each(start, tasks);
  });
  tags.who = "raw launches";
  to.measure("raw launches, chain", tags, [=](figure&) {
    auto& plain = rig_for<plain_driver>({});
    auto const start = clock::now();
    plain.launch_all(0, tasks);
    plain.synchronize_all(0);
    return ns_each(start, tasks);
  });
  to.compare({.id = "chain",
              .subject = "flotilla, chain",
              .control = "launches into one stream",
              .controls = {"raw launches, chain"},
              .most = 750});
}

}  // namespace flotilla::bench

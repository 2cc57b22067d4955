// Question: what does a submit cost the thread that makes it?
// Control:  cuLaunchKernel. Both in bursts that fit flotilla's window and the driver's queue.
//           Nobody drains meanwhile: the runtime has no workers. The driver has no such state, and
//           begins at once.

#include <algorithm>

#include "fleet.hpp"
#include "plain_driver.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

constexpr std::int64_t burst = 512;

/// The mean of the bursts' times, without what carries them out.
template <class Submit, class Drain>
double time_bursts(std::int64_t bursts, Submit const& submit, Drain const& drain) {
  double seconds = 0;
  for (std::int64_t i = 0; i < bursts; ++i) {
    auto const start = clock::now();
    for (std::int64_t task = 0; task < burst; ++task) { submit(); }
    seconds += seconds_since(start);
    drain();
  }
  return seconds * 1e9 / static_cast<double>(bursts * burst);
}

}  // namespace

void add_submits(suite& to) {
  std::int64_t const bursts = std::max<std::int64_t>(1, to.amount().raw / burst);
  to.measure(
      "flotilla, submit alone", {.who = "flotilla", .what = "submit", .backlog = burst},
      [=](figure&) {
        auto& ships = rig_for<fleet>({.workers = 0});
        return time_bursts(
            bursts,
            [&] { static_cast<void>(ships.rt.submit(ships.null, {.device = device_ordinal{0}})); },
            [&] { ships.rt.wait_idle(); });
      });
  to.measure("raw launches, the call alone",
             {.who = "raw launches", .what = "submit", .backlog = burst}, [=](figure&) {
               auto& plain = rig_for<plain_driver>({});
               plain_driver::post const& where = plain.posts(0).front();
               plain.push(where);
               double const ns = time_bursts(
                   bursts, [&] { plain.launch(where); }, [&] { plain.synchronize(where); });
               plain.pop();
               return ns;
             });
  to.compare({.id = "submit",
              .subject = "flotilla, submit alone",
              .control = "cuLaunchKernel alone",
              .controls = {"raw launches, the call alone"},
              .most = 60});
}

}  // namespace flotilla::bench

// Question: what does a node of a recording cost, replayed as it is and with all arguments changed?
// Control:  a graph of the same nodes in the same chains, relaunched as it is without flotilla.

#include <algorithm>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla_kernels.hpp>

#include "allocations.hpp"
#include "machine.hpp"
#include "plain_chains.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

constexpr int nodes = 1000;

/// A recording of stores, each into a word of its own.
class replayed final : public rig {
 public:
  struct shape {
    int workers = 1;
    bool operator==(shape const&) const = default;
  };
  explicit replayed(shape const& wanted) : made_as{wanted} {
    for (int i = 0; i < nodes; ++i) { tasks_.push_back(steps_.add(store(i, 0))); }
    steps_.replay().wait();
  }

  /// So many replays, all arguments changed before each where `changed`.
  void run(std::int64_t replays, bool changed) {
    ticket last;
    for (std::int64_t k = 0; k < replays; ++k) {
      for (int i = 0; changed && i < nodes; ++i) {
        steps_.set(tasks_[static_cast<std::size_t>(i)], store(i, static_cast<int>(k)));
      }
      last = steps_.replay();
    }
    last.wait();
  }

  shape const made_as;

 private:
  [[nodiscard]] launch store(int where, int value) const {
    return store_.on({1}, {32})(reinterpret_cast<int*>(words_.address()) + where, value);
  }

  runtime rt_{{.devices = first_devices(1), .workers = made_as.workers}};
  kernel<int*, int> store_{rt_.load(flotilla_kernels).kernel<int*, int>("store")};
  device_buffer<int> words_{rt_, device_ordinal{0}, nodes};
  recording steps_{rt_};
  std::vector<recorded_task> tasks_;
};

constexpr char const* control = "relaunched graph of 1000 nodes";

void add_replays(suite& to, std::string const& name, bool changed) {
  std::int64_t const replays = std::max<std::int64_t>(2, to.amount().flood / nodes);
  to.measure(name, {.who = "flotilla", .what = "replay", .backlog = replays * nodes}, [=](figure&) {
    auto& recorded = rig_for<replayed>({});
    auto const start = clock::now();
    recorded.run(replays, changed);
    return ns_each(start, replays * nodes);
  });
}

}  // namespace

void add_replay(suite& to) {
  std::string const as_it_is = "flotilla, replay of 1000 tasks";
  std::string const changed = "flotilla, replay of 1000 tasks, all changed";
  add_replays(to, as_it_is, false);
  add_replays(to, changed, true);
  std::int64_t const launches = std::max<std::int64_t>(2, to.amount().flood / nodes);
  to.measure(control, {.who = "relaunched graph", .what = "replay", .backlog = launches * nodes}, [=](figure&) {
    auto& chains = rig_for<plain_chains>({.nodes = nodes, .width = 64, .streams = 1, .graphs = 1, .stores = true});
    auto const start = clock::now();
    chains.relaunch(launches);
    return ns_each(start, launches * nodes);
  });
  std::string const allocations = "flotilla, allocations of replays";
  to.measure(
      allocations, {.who = "flotilla", .what = "allocations", .backlog = nodes},
      [](figure&) {
        // One at a time, by one thread: how many lists of changes there are, and how often a worker is asked for, which
        // allocates, follows from how many replays are under way.
        auto& recorded = rig_for<replayed>({.workers = 0});
        for (int i = 0; i < 10; ++i) { recorded.run(1, true); }
        count_allocations();
        for (int i = 0; i < 10; ++i) { recorded.run(1, true); }
        return static_cast<double>(counted_allocations()) / (10.0 * nodes);
      },
      "allocations");
  to.compare({.id = "replay", .subject = as_it_is, .control = control, .controls = {control}, .most_ratio = 1.1});
  to.compare({.id = "replay",
              .subject = changed,
              .control = control,
              .controls = {control},
              .most_ratio = 1.1,
              .most = 110});
  to.compare({.id = "allocations", .subject = allocations, .control = "none", .most = 0, .for_gpus = false});
}

}  // namespace flotilla::bench

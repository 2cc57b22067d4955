// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how long does a lone task take, from submit until the submitting thread sees its end?
//           Measured for each wait policy, with one worker and without workers.
// Controls: a launch and cuStreamSynchronize, in a context with the same policy. For the policy
//           `spin`, two more controls run one empty body through oneTBB. With task_group, the
//           calling thread can run the body itself. With task_arena::enqueue, another thread
//           runs it.

#include <flotilla/settings/settings.hpp>

#include "bench_suite.hpp"
#include "lone_timing.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

std::string subject_name(wait_policy policy, int workers) {
  return "flotilla, lone task, " + to_string(policy) + (workers == 0 ? ", no workers" : "");
}

std::string control_name(wait_policy policy) {
  return "raw launch and synchronize, " + to_string(policy);
}

void measure_flotilla(bench_suite& suite, wait_policy policy, int workers) {
  std::int64_t const times = suite.amount().lone;
  suite.measure(subject_name(policy, workers),
                {.who = "flotilla, " + to_string(policy), .what = "wait policy", .backlog = 1},
                [=](figure& result) {
                  auto& fixture =
                      get_fixture<runtime_fixture>({.workers = workers, .schedule = policy});
                  return time_each(result, times, [&] {
                    fixture.rt.submit(fixture.null_launch, {.device = device_ordinal{0}}).wait();
                  });
                });
}

void measure_control(bench_suite& suite, wait_policy policy) {
  std::int64_t const times = suite.amount().lone;
  suite.measure(control_name(policy),
                {.who = "raw launch and synchronize, " + to_string(policy),
                 .what = "wait policy",
                 .backlog = 1},
                [=](figure& result) {
                  auto& plain = get_fixture<plain_driver>({.schedule = policy});
                  plain_driver::launch_target const& target = plain.targets(0).front();
                  plain.push(target);
                  double const ns = time_each(result, times, [&] {
                    plain.launch(target);
                    plain.synchronize(target);
                  });
                  plain.pop();
                  return ns;
                });
}

void measure_tbb(bench_suite& suite) {
  std::int64_t const times = suite.amount().lone;
  suite.measure("oneTBB task_group, one body",
                {.who = "oneTBB task_group", .what = "lone body", .backlog = 1},
                [=](figure& result) {
                  auto& tbb = get_fixture<tbb_control>({});
                  return time_each(result, times, [&] {
                    tbb.run_in_group(0, 1);
                    tbb.wait_for_group(0);
                  });
                });
  suite.measure("oneTBB enqueue, one body",
                {.who = "oneTBB enqueue", .what = "lone body", .backlog = 1}, [=](figure& result) {
                  auto& tbb = get_fixture<tbb_control>({});
                  return time_each(result, times, [&] {
                    tbb.enqueue(1);
                    tbb.wait_for_enqueued();
                  });
                });
}

void compare_with_driver(bench_suite& suite, std::string const& id, std::string const& subject,
                         wait_policy policy, std::string const& control) {
  for (statistic const of : {statistic::p50, statistic::p99}) {
    suite.compare({.id = id,
                   .subject = subject,
                   .of = of,
                   .control = "launch + cuStreamSynchronize, " + to_string(policy),
                   .controls = {control}});
  }
}

}  // namespace

void add_wait_policies(bench_suite& suite) {
  // For the policy `spin`, lone_tasks.cpp measures these figures.
  compare_with_driver(suite, "lone_spin_0w", "flotilla, lone task, no workers", wait_policy::spin,
                      "raw launch and synchronize");
  for (wait_policy const policy : {wait_policy::yield, wait_policy::blocking}) {
    for (int const workers : {1, 0}) { measure_flotilla(suite, policy, workers); }
    measure_control(suite, policy);
    std::string const id = "lone_" + to_string(policy);
    compare_with_driver(suite, id, subject_name(policy, 1), policy, control_name(policy));
    compare_with_driver(suite, id + "_0w", subject_name(policy, 0), policy, control_name(policy));
  }
  measure_tbb(suite);
  for (std::string const call : {"task_group", "enqueue"}) {
    suite.compare({.id = "lone_tbb",
                   .subject = "flotilla, lone task",
                   .of = statistic::p50,
                   .control = "one empty body, oneTBB " + call,
                   .controls = {"oneTBB " + call + ", one body"}});
  }
}

}  // namespace flotilla::bench

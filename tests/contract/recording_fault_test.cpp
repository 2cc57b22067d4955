// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Driver calls that fail during a replay. Only that replay fails, and its error names the kernel.

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class RecordingFaults : public guest_test {
 protected:
  static constexpr unsigned tasks = 10;
  /// A recording of ten tasks. Each task writes its own word. Each task is a node of its own;
  /// recording_grid_fault_test.cpp tests recordings with grids.
  struct recorded_writes {
    runtime rt{{.devices = device_spec(1), .workers = 0, .fuse_launches = false}};
    test_program kernels{rt};
    host_buffer<std::uint32_t> values{rt, tasks};
    recording steps{rt};
    std::vector<recorded_task> all;

    recorded_writes() {
      for (unsigned i = 0; i < tasks; ++i) { all.push_back(steps.add(write(i, 1))); }
      clear();
    }
    launch write(unsigned where, std::uint32_t value) {
      return kernels.write.with_shape({1}, {1})(values.data() + where, value);
    }
    void set_all(std::uint32_t value) {
      for (unsigned i = 0; i < tasks; ++i) { steps.set(all[i], write(i, value)); }
    }
    void clear() {
      for (unsigned i = 0; i < tasks; ++i) { values[i] = 0; }
    }
    [[nodiscard]] std::vector<std::uint32_t> read() const { return {values.begin(), values.end()}; }
  };
  static std::vector<std::uint32_t> every_word(std::uint32_t value) {
    return std::vector<std::uint32_t>(tasks, value);
  }
};

// requirement: if the driver refuses to rewrite a node, the replay fails and no task of the node's
// graph runs. The next replay has the right arguments
TEST_F(RecordingFaults, RefusedRewriteFailsOneReplay) {
  FLOTILLA_NEED_CPU_DRIVER();
  recorded_writes in;
  in.steps.finish();
  std::uint32_t value = 1;
  for (unsigned nth = 1; nth <= tasks; ++nth) {
    in.clear();
    in.set_all(++value);
    testing::fail_call("cuGraphExecKernelNodeSetParams", nth,
                       driver_status::launch_out_of_resources);
    ticket const bad = in.steps.replay({.label = "failing replay"});
    in.steps.set(in.all[3], in.write(3, 77));  // the rewrites for `bad` are still pending
    EXPECT_THAT(
        thrown<driver_error>([&] { bad.wait(); }),
        AllOf(HasSubstr("cuGraphExecKernelNodeSetParams"), HasSubstr("'write_value'"),
              HasSubstr("failing replay"), HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")));
    EXPECT_EQ(in.read(), every_word(0)) << "rewrite " << nth;
    testing::clear_faults();
    in.steps.replay().wait();
    std::vector<std::uint32_t> expected = every_word(value);
    expected[3] = 77;
    EXPECT_EQ(in.read(), expected) << "rewrite " << nth;
  }
}

// requirement: if the driver has no memory to rewrite a node, the graph is not launched again,
// because an H200 faults then. The error says so, and a new recording works
TEST_F(RecordingFaults, RecordingIsNotUsedAfterARewriteWithoutMemory) {
  FLOTILLA_NEED_CPU_DRIVER();
  {
    recorded_writes in;
    in.steps.finish();
    in.clear();
    in.set_all(2);
    testing::fail_call("cuGraphExecKernelNodeSetParams", 3, driver_status::out_of_memory);
    ticket const bad = in.steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
                AllOf(HasSubstr("'write_value'"), ::testing::Not(HasSubstr("again"))));
    testing::clear_faults();
    for (int i = 0; i < 2; ++i) {
      in.set_all(3);
      ticket const later = in.steps.replay();
      EXPECT_THAT(thrown<driver_error>([&] { later.wait(); }),
                  AllOf(HasSubstr("cuGraphExecKernelNodeSetParams"), HasSubstr("recorded tasks"),
                        HasSubstr("make the recording again"), HasSubstr("OUT_OF_MEMORY")));
    }
    EXPECT_EQ(in.read(), every_word(0));
  }
  recorded_writes in;
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), every_word(1));
}

// requirement: if the driver refuses a launch of a recording, every replay fails until `set`
// replaces this launch
TEST_F(RecordingFaults, InvalidLaunchFailsUntilItIsSetAgain) {
  recorded_writes in;
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), every_word(1));
  in.clear();
  in.set_all(2);
  in.steps.set(in.all[4], in.kernels.nothing.with_shape(
                              {1}, {1}, 64u << 20)());  // more shared memory than a device has
  for (int i = 0; i < 2; ++i) {
    ticket const bad = in.steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }), HasSubstr("kernel 'nothing'"));
    EXPECT_EQ(in.read(), every_word(0));
  }
  in.steps.set(in.all[4], in.write(4, 2));
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), every_word(2));
}

// requirement: if a replay fails, replays that were submitted later run with their own arguments
TEST_F(RecordingFaults, ReplaysAfterAFailedOneRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  recorded_writes in;
  in.steps.finish();
  held_word held{in.rt};
  ticket const head = in.rt.submit(held.launch_of(in.kernels));
  in.set_all(2);
  ticket const bad = in.steps.replay({.after = {head}});
  in.steps.set(in.all[0], in.write(0, 3));
  ticket const good = in.steps.replay();
  testing::fail_call("cuGraphExecKernelNodeSetParams", 5, driver_status::launch_out_of_resources);
  EXPECT_TRUE(pumping(in.rt, [&] { return held.started(); }));
  held.release();
  EXPECT_THROW(bad.wait(), driver_error);
  good.wait();
  testing::clear_faults();
  std::vector<std::uint32_t> expected = every_word(2);
  expected[0] = 3;
  EXPECT_EQ(in.read(), expected);
}

// requirement
TEST_F(RecordingFaults, RefusedLaunchFailsOneReplay) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (char const* const entry : {"cuGraphLaunch", "cuGraphExecBatchMemOpNodeSetParams"}) {
    recorded_writes in;
    in.steps.finish();
    in.set_all(2);
    testing::fail_call(entry, 1, driver_status::launch_out_of_resources);
    ticket const bad = in.steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
                AllOf(HasSubstr("cuGraphLaunch"), HasSubstr("'write_value'")));
    testing::clear_faults();
    EXPECT_EQ(in.read(), every_word(0));
    in.steps.replay().wait();
    EXPECT_EQ(in.read(), every_word(2));
  }
}

// requirement: if the driver refuses to create a graph, the error names the kernels and nothing
// leaks. The application can call `finish` or `replay` again
TEST_F(RecordingFaults, NodeThatCannotBeCreatedIsNamed) {
  FLOTILLA_NEED_CPU_DRIVER();
  recorded_writes in;
  auto const wrong = in.steps.add(in.kernels.nothing.with_shape({1}, {1}, 64u << 20)());
  EXPECT_THAT(thrown<driver_error>([&] { in.steps.finish(); }),
              AllOf(HasSubstr("'nothing'"), HasSubstr("task 10")));
  EXPECT_THAT(thrown<driver_error>([&] { static_cast<void>(in.steps.replay()); }),
              HasSubstr("'nothing'"));
  in.steps.set(wrong, in.kernels.nothing.with_shape({1}, {1})());
  testing::fail_call("cuGraphInstantiateWithParams", 1, driver_status::out_of_memory);
  EXPECT_THAT(thrown<driver_error>([&] { in.steps.finish(); }),
              AllOf(HasSubstr("'write_value', 'nothing'"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  testing::clear_faults();
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), every_word(1));
}

// requirement: if the driver refuses to add or rewrite a node for a copy or fill, the error names
// the driver call and the task. Later calls succeed
TEST_F(RecordingFaults, RefusedCopyFailsOneReplay) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (std::string const kind : {"Memcpy", "Memset"}) {
    runtime rt{{.devices = "cpu:1", .workers = 0}};
    device_buffer<std::uint32_t> there{rt, device_ordinal{0}, 1};
    host_buffer<std::uint32_t> out{rt, 1};
    out[0] = 0;
    recording steps{rt};
    auto const fill = steps.add(there.fill(1));
    auto const down = steps.add(there.copy_to(out), {.after = {fill}});
    testing::fail_call("cuGraphAdd" + kind + "Node", 1, driver_status::out_of_memory);
    EXPECT_THAT(thrown<driver_error>([&] { steps.finish(); }),
                AllOf(HasSubstr("cuGraphAdd" + kind + "Node"), HasSubstr("a copy or fill, task ")));
    testing::clear_faults();
    steps.finish();
    steps.set(fill, there.fill(2));
    steps.set(down, there.copy_to(out));
    testing::fail_call("cuGraphExec" + kind + "NodeSetParams", 1, driver_status::invalid_value);
    ticket const bad = steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
                AllOf(HasSubstr("cuGraphExec" + kind + "NodeSetParams"),
                      HasSubstr("a copy or fill in a replay of 2")));
    testing::clear_faults();
    EXPECT_EQ(out[0], 0u);
    steps.replay().wait();
    EXPECT_EQ(out[0], 2u);
  }
}

// requirement: if the driver refuses to create the second of two graphs, the first graph, which
// already exists, is destroyed
TEST_F(RecordingFaults, FailedGraphCreationLeavesNoOtherGraph) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{{.devices = "cpu:2", .workers = 0}};
  test_program const kernels{rt};
  recording steps{rt};
  static_cast<void>(
      steps.add(kernels.nothing.with_shape({1}, {1})(), {.device = device_ordinal{0}}));
  static_cast<void>(
      steps.add(kernels.nothing.with_shape({1}, {1})(), {.device = device_ordinal{1}}));
  testing::fail_call("cuGraphInstantiateWithParams", 2, driver_status::out_of_memory);
  EXPECT_THROW(steps.finish(), driver_error);
  testing::clear_faults();
  steps.finish();
  steps.replay().wait();
}

// requirement: if a graph of a replay fails, its successors on other devices fail, too. Later
// replays succeed
TEST_F(RecordingFaults, SuccessorOfAFailedGraphDoesNotRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{{.devices = "cpu:2", .workers = 0}};
  test_program const kernels{rt};
  host_buffer<std::uint32_t> value{rt, 1};
  value[0] = 1;
  auto const step = [&](std::uint32_t factor) {
    return kernels.step.with_shape({1}, {1})(value.data(), factor, 1u);
  };
  recording steps{rt};
  auto const first = steps.add(step(3), {.device = device_ordinal{0}});
  static_cast<void>(steps.add(step(5), {.device = device_ordinal{1}, .after = {first}}));
  steps.finish();
  testing::fail_call("cuGraphLaunch", 1, driver_status::launch_out_of_resources);
  ticket const bad = steps.replay();
  EXPECT_THAT(thrown<dependency_failed>([&] { bad.wait(); }), HasSubstr("multiply_add"));
  EXPECT_EQ(value[0], 1u);
  steps.replay().wait();
  EXPECT_EQ(value[0], (1u * 3 + 1) * 5 + 1);
}

// requirement: if a kernel of a replay faults, the runtime is poisoned, the error names the kernel,
// and no wait hangs
TEST_F(RecordingFaults, TrapInAReplayPoisons) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 2}) {
    FLOTILLA_EXPECT_IN_CHILD([workers] {
      runtime rt{{.devices = device_spec(1), .workers = workers}};
      test_program const kernels{rt};
      recording steps{rt};
      auto const task = steps.add(kernels.nothing.with_shape({1}, {1})());
      steps.replay().wait();
      steps.set(task, kernels.loaded.kernel<>("trap_now").with_shape({1}, {1})());
      ticket const trap = steps.replay({.label = "the faulting one"});
      EXPECT_TRUE(ended(trap));
      EXPECT_THAT(thrown<poisoned>([&] { trap.wait(); }),
                  AllOf(HasSubstr("trap_now"), HasSubstr("the faulting one")));
      EXPECT_THROW(static_cast<void>(steps.replay()), poisoned);
      recording late{rt};
      static_cast<void>(late.add(kernels.nothing.with_shape({1}, {1})()));
      EXPECT_THROW(late.finish(), poisoned);
    });
  }
}

}  // namespace
}  // namespace flotilla::test

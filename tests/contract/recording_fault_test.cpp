// What goes wrong with a replay is that replay's own, and names the kernel.

#include <flotilla/flotilla.hpp>

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
  struct world {
    runtime rt{{.devices = device_spec(1), .workers = 0}};
    test_program kernels{rt};
    host_buffer<std::uint32_t> values{rt, tasks};
    recording steps{rt};
    std::vector<recorded_task> all;

    world() {
      for (unsigned i = 0; i < tasks; ++i) { all.push_back(steps.add(write(i, 1))); }
      clear();
    }
    launch write(unsigned where, std::uint32_t value) const {
      return kernels.write.on({1}, {1})(values.data() + where, value);
    }
    void set_all(std::uint32_t value) {
      for (unsigned i = 0; i < tasks; ++i) { steps.set(all[i], write(i, value)); }
    }
    void clear() {
      for (unsigned i = 0; i < tasks; ++i) { values[i] = 0; }
    }
    [[nodiscard]] std::vector<std::uint32_t> read() const { return {values.begin(), values.end()}; }
  };
  static std::vector<std::uint32_t> all_of(std::uint32_t value) { return std::vector<std::uint32_t>(tasks, value); }
};

// requirement: a rewrite that is refused fails that replay, nothing of its graph runs; the next has the right arguments
TEST_F(RecordingFaults, ARefusedRewriteFailsOneReplay) {
  FLOTILLA_NEED_CPU_DRIVER();
  world in;
  in.steps.finish();
  std::uint32_t value = 1;
  for (unsigned nth = 1; nth <= tasks; ++nth) {
    in.clear();
    in.set_all(++value);
    inject("fail=cuGraphExecKernelNodeSetParams@" + std::to_string(nth) + ":CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    ticket const bad = in.steps.replay({.label = "the bad one"});
    in.steps.set(in.all[3], in.write(3, 77));  // later than what is owed
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
                AllOf(HasSubstr("cuGraphExecKernelNodeSetParams"), HasSubstr("'write_value'"), HasSubstr("the bad one"),
                      HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")));
    EXPECT_EQ(in.read(), all_of(0)) << "rewrite " << nth;
    clear_injection();
    in.steps.replay().wait();
    std::vector<std::uint32_t> expected = all_of(value);
    expected[3] = 77;
    EXPECT_EQ(in.read(), expected) << "rewrite " << nth;
  }
}

// requirement: what is refused for its own sake is tried again until it is set anew
TEST_F(RecordingFaults, AnInvalidLaunchFailsUntilItIsSetAnew) {
  world in;
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), all_of(1));
  in.clear();
  in.set_all(2);
  in.steps.set(in.all[4], in.kernels.nothing.on({1}, {1}, 64u << 20)());  // more shared memory than there is
  for (int i = 0; i < 2; ++i) {
    ticket const bad = in.steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }), HasSubstr("kernel 'nothing'"));
    EXPECT_EQ(in.read(), all_of(0));
  }
  in.steps.set(in.all[4], in.write(4, 2));
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), all_of(2));
}

// requirement: replays in flight that were submitted behind the one that fails run, and with their own arguments
TEST_F(RecordingFaults, ReplaysBehindTheOneThatFailsRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  world in;
  in.steps.finish();
  held_word door{in.rt};
  ticket const held = in.rt.submit(door.launch_of(in.kernels));
  in.set_all(2);
  ticket const bad = in.steps.replay({.after = {held}});
  in.steps.set(in.all[0], in.write(0, 3));
  ticket const good = in.steps.replay();
  inject("fail=cuGraphExecKernelNodeSetParams@5:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  while (!door.started()) { in.rt.pump(); }
  door.release();
  EXPECT_THROW(bad.wait(), driver_error);
  good.wait();
  clear_injection();
  std::vector<std::uint32_t> expected = all_of(2);
  expected[0] = 3;
  EXPECT_EQ(in.read(), expected);
}

// requirement
TEST_F(RecordingFaults, ARefusedLaunchFailsOneReplay) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (char const* const entry : {"cuGraphLaunch", "cuGraphExecBatchMemOpNodeSetParams"}) {
    world in;
    in.steps.finish();
    in.set_all(2);
    inject("fail=" + std::string{entry} + "@1:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    ticket const bad = in.steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }), AllOf(HasSubstr("cuGraphLaunch"), HasSubstr("'write_value'")));
    clear_injection();
    EXPECT_EQ(in.read(), all_of(0));
    in.steps.replay().wait();
    EXPECT_EQ(in.read(), all_of(2));
  }
}

// requirement: a node that cannot be made is named, nothing is left behind, and it can be tried again
TEST_F(RecordingFaults, ANodeThatCannotBeMadeIsNamed) {
  FLOTILLA_NEED_CPU_DRIVER();
  world in;
  auto const wrong = in.steps.add(in.kernels.nothing.on({1}, {1}, 64u << 20)());
  EXPECT_THAT(thrown<driver_error>([&] { in.steps.finish(); }), AllOf(HasSubstr("'nothing'"), HasSubstr("task 10")));
  EXPECT_THAT(thrown<driver_error>([&] { static_cast<void>(in.steps.replay()); }), HasSubstr("'nothing'"));
  in.steps.set(wrong, in.kernels.nothing.on({1}, {1})());
  inject("fail=cuGraphInstantiateWithParams@1:CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_THAT(thrown<driver_error>([&] { in.steps.finish(); }),
              AllOf(HasSubstr("'write_value', 'nothing'"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  clear_injection();
  in.steps.replay().wait();
  EXPECT_EQ(in.read(), all_of(1));
}

// requirement: copies and fills as well
TEST_F(RecordingFaults, ARefusedCopyFailsOneReplay) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (std::string const kind : {"Memcpy", "Memset"}) {
    runtime rt{{.devices = "cpu:1", .workers = 0}};
    device_buffer<std::uint32_t> const there{rt, device_ordinal{0}, 1};
    host_buffer<std::uint32_t> const out{rt, 1};
    out[0] = 0;
    recording steps{rt};
    auto const fill = steps.add(there.fill(1));
    auto const down = steps.add(there.copy_to(out), {.after = {fill}});
    inject("fail=cuGraphAdd" + kind + "Node@1:CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_THAT(thrown<driver_error>([&] { steps.finish(); }),
                AllOf(HasSubstr("cuGraphAdd" + kind + "Node"), HasSubstr("a copy or fill, task ")));
    clear_injection();
    steps.finish();
    steps.set(fill, there.fill(2));
    steps.set(down, there.copy_to(out));
    inject("fail=cuGraphExec" + kind + "NodeSetParams@1:CUDA_ERROR_INVALID_VALUE");
    ticket const bad = steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
                AllOf(HasSubstr("cuGraphExec" + kind + "NodeSetParams"), HasSubstr("a copy or fill in a replay of 2")));
    clear_injection();
    EXPECT_EQ(out[0], 0u);
    steps.replay().wait();
    EXPECT_EQ(out[0], 2u);
  }
}

// requirement: of two graphs the second cannot be made: the first is given up
TEST_F(RecordingFaults, AGraphThatCannotBeMadeLeavesNoOther) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{{.devices = "cpu:2", .workers = 0}};
  test_program const kernels{rt};
  recording steps{rt};
  static_cast<void>(steps.add(kernels.nothing.on({1}, {1})(), {.device = device_ordinal{0}}));
  static_cast<void>(steps.add(kernels.nothing.on({1}, {1})(), {.device = device_ordinal{1}}));
  inject("fail=cuGraphInstantiateWithParams@2:CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_THROW(steps.finish(), driver_error);
  clear_injection();
  steps.finish();
  steps.replay().wait();
}

// requirement: a part that fails fails what is behind it on other devices, and no later replay
TEST_F(RecordingFaults, WhatIsBehindAGraphThatFailedDoesNotRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{{.devices = "cpu:2", .workers = 0}};
  test_program const kernels{rt};
  host_buffer<std::uint32_t> const value{rt, 1};
  value[0] = 1;
  auto const step = [&](std::uint32_t factor) { return kernels.step.on({1}, {1})(value.data(), factor, 1u); };
  recording steps{rt};
  auto const first = steps.add(step(3), {.device = device_ordinal{0}});
  static_cast<void>(steps.add(step(5), {.device = device_ordinal{1}, .after = {first}}));
  steps.finish();
  inject("fail=cuGraphLaunch@1:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  ticket const bad = steps.replay();
  EXPECT_THAT(thrown<dependency_failed>([&] { bad.wait(); }), HasSubstr("multiply_add"));
  EXPECT_EQ(value[0], 1u);
  steps.replay().wait();
  EXPECT_EQ(value[0], (1u * 3 + 1) * 5 + 1);
}

// requirement: a kernel of a recording that faults poisons as any, and is among the suspects; nothing hangs
TEST_F(RecordingFaults, ATrapPoisons) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 2}) {
    FLOTILLA_EXPECT_IN_CHILD([workers] {
      runtime rt{{.devices = device_spec(1), .workers = workers}};
      test_program const kernels{rt};
      recording steps{rt};
      auto const task = steps.add(kernels.nothing.on({1}, {1})());
      steps.replay().wait();
      steps.set(task, kernels.loaded.kernel<>("trap_now").on({1}, {1})());
      ticket const trap = steps.replay({.label = "the guilty one"});
      EXPECT_TRUE(ended(trap));
      EXPECT_THAT(thrown<poisoned>([&] { trap.wait(); }), AllOf(HasSubstr("trap_now"), HasSubstr("the guilty one")));
      EXPECT_THROW(static_cast<void>(steps.replay()), poisoned);
      recording late{rt};
      static_cast<void>(late.add(kernels.nothing.on({1}, {1})()));
      EXPECT_THROW(late.finish(), poisoned);
    });
  }
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Driver calls that fail while a recording with grids is made or replayed.

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class RecordingGridFaults : public guest_test {
 protected:
  /// Two levels of `width` tasks, with one fill between them. Each task writes its own word.
  struct recorded_writes {
    unsigned const width;
    runtime rt{{.devices = device_spec(1), .workers = 0}};
    test_program kernels{rt};
    host_buffer<std::uint32_t> values{rt, 2 * width};
    device_buffer<std::uint32_t> filled{rt, device_ordinal{0}, 1};
    recording steps{rt};
    std::vector<recorded_task> all;
    recorded_task fill;

    explicit recorded_writes(unsigned wide = 8) : width{wide} {
      for (unsigned i = 0; i < width; ++i) { all.push_back(steps.add(write(i, 1))); }
      fill = steps.add(filled.fill(1), {.after = {all[0]}});
      for (unsigned i = width; i < 2 * width; ++i) {
        all.push_back(steps.add(write(i, 1), {.after = {fill, all[i - width]}}));
      }
      clear();
    }
    launch write(unsigned where, std::uint32_t value, std::uint32_t shared_bytes = 0) {
      return kernels.write.with_shape({1}, {1}, shared_bytes)(values.data() + where, value);
    }
    void set_first(std::size_t count, std::uint32_t value) {
      for (unsigned i = 0; i < count; ++i) { steps.set(all[i], write(i, value)); }
    }
    void set_all(std::uint32_t value) { set_first(all.size(), value); }
    void clear() { std::fill(values.begin(), values.end(), 0u); }
    [[nodiscard]] bool are(std::uint32_t first_level, std::uint32_t second_level) const {
      for (unsigned i = 0; i < 2 * width; ++i) {
        if (values[i] != (i < width ? first_level : second_level)) { return false; }
      }
      return true;
    }
    [[nodiscard]] bool all_are(std::uint32_t value) const { return are(value, value); }
  };
  void TearDown() override {
    testing::clear_faults();
    guest_test::TearDown();
  }
};

// requirement: whichever driver call of `finish` fails, either the recording is made nevertheless,
// or `finish` throws and can be called again
TEST_F(RecordingGridFaults, EveryCallOfFinishMayFail) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (char const* const entry : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddMemsetNode",
                                  "cuGraphAddBatchMemOpNode", "cuGraphInstantiateWithParams",
                                  "cuGraphUpload", "cuMemAllocAsync", "cuStreamSynchronize"}) {
    for (driver_status const status :
         {driver_status::launch_out_of_resources, driver_status::out_of_memory}) {
      for (std::uint64_t nth = 1; nth <= 4; ++nth) {
        SCOPED_TRACE(std::string{entry} + " " + std::to_string(nth) + " " + to_string(status));
        recorded_writes in;
        testing::fail_call(entry, nth, status);
        try {
          in.steps.finish();
        } catch (driver_error const& error) {
          EXPECT_EQ(error.status(), status) << error.what();
          EXPECT_THAT(error.what(), HasSubstr(entry));
        }
        testing::clear_faults();
        in.steps.replay().wait();
        EXPECT_TRUE(in.all_are(1));
        in.set_all(2);
        in.steps.replay().wait();
        EXPECT_TRUE(in.all_are(2));
      }
    }
  }
}

// requirement: whichever driver call of a replay with changes fails, either the replay runs
// nevertheless, or nothing of it runs, and the next replay has the right arguments. After an update
// for which the driver had no memory, all later replays fail
TEST_F(RecordingGridFaults, EveryCallOfAReplayMayFail) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (std::string const entry :
       {"cuGraphExecKernelNodeSetParams", "cuGraphExecMemsetNodeSetParams",
        "cuGraphExecBatchMemOpNodeSetParams", "cuStreamQuery", "cuGraphLaunch", "cuGraphCreate",
        "cuGraphAddKernelNode", "cuGraphInstantiateWithParams"}) {
    for (driver_status const status :
         {driver_status::launch_out_of_resources, driver_status::out_of_memory}) {
      for (std::uint64_t nth = 1; nth <= 3; ++nth) {
        for (bool const rebuilds : {false, true}) {
          SCOPED_TRACE(entry + " " + std::to_string(nth) + " " + to_string(status) +
                       (rebuilds ? ", with another kernel" : ""));
          recorded_writes in;
          in.steps.finish();
          in.set_first(in.width, 2);  // the other level gets its copy on the device in this replay
          in.steps.set(in.fill, in.filled.fill(2));
          if (rebuilds) { in.steps.set(in.all[3], in.write(3, 2, 64)); }  // no grid can hold it
          testing::fail_call(entry, nth, status);
          ticket const first = in.steps.replay();
          bool failed = false;
          try {
            first.wait();
          } catch (driver_error const& error) {
            failed = true;
            EXPECT_EQ(error.status(), status) << error.what();
            EXPECT_THAT(error.what(),
                        AnyOf(HasSubstr("'write_value'"), HasSubstr("a copy or fill")));
          }
          testing::clear_faults();
          EXPECT_TRUE(failed ? in.all_are(0) : in.are(2, 1));
          bool const is_damaged = failed && status == driver_status::out_of_memory &&
                                  (entry == "cuGraphExecKernelNodeSetParams" ||
                                   entry == "cuGraphExecMemsetNodeSetParams");
          ticket const second = in.steps.replay();
          if (is_damaged) {
            EXPECT_THAT(thrown<driver_error>([&] { second.wait(); }),
                        HasSubstr("make the recording again"));
            continue;
          }
          second.wait();
          EXPECT_TRUE(in.are(2, 1));
        }
      }
    }
  }
}

// requirement: if the driver refuses a launch, the error names the task and its kernel, although
// the task was part of a grid
TEST_F(RecordingGridFaults, RefusedTaskOfAGridIsNamed) {
  constexpr std::uint32_t too_much = 64u << 20;  // more shared memory than a device has
  {
    recorded_writes in;
    for (unsigned i = 0; i < in.width; ++i) { in.steps.set(in.all[i], in.write(i, 1, too_much)); }
    EXPECT_THAT(thrown<driver_error>([&] { in.steps.finish(); }),
                AllOf(HasSubstr("'write_value'"), HasSubstr("task 0")));
    for (unsigned i = 0; i < in.width; ++i) { in.steps.set(in.all[i], in.write(i, 1)); }
    in.steps.replay().wait();
    EXPECT_TRUE(in.all_are(1));
  }
  recorded_writes in;
  in.steps.finish();
  in.set_all(2);
  in.steps.set(in.all[5], in.write(5, 2, too_much));
  for (int i = 0; i < 2; ++i) {
    ticket const bad = in.steps.replay();
    EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
                AllOf(HasSubstr("'write_value'"), HasSubstr("task 5")));
    EXPECT_TRUE(in.all_are(0));
  }
  in.steps.set(in.all[5], in.write(5, 2));
  in.steps.replay().wait();
  EXPECT_TRUE(in.all_are(2));
}

// requirement: if there is no memory for the records of a replay, only this replay fails
TEST_F(RecordingGridFaults, ReplayWithoutMemoryForRecordsFailsAlone) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned width = 9000;  // so many that each copy of the records is registered by itself
  recorded_writes in{width};
  for (char const* const entry : {"cuMemHostRegister", "cuMemHostGetDevicePointer"}) {
    testing::fail_call(entry, 1, driver_status::out_of_memory);
    EXPECT_THAT(thrown<driver_error>([&] { in.steps.finish(); }), HasSubstr(entry));
    testing::clear_faults();
  }
  in.steps.replay().wait();
  EXPECT_TRUE(in.all_are(1));
  held_word held{in.rt};
  ticket const head = in.rt.submit(held.launch_of(in.kernels));
  in.set_all(2);
  ticket const good = in.steps.replay({.after = {head}});
  EXPECT_TRUE(pumping(in.rt, [&] { return held.started(); }));
  in.set_all(3);
  testing::fail_call("cuMemHostRegister", 1, driver_status::out_of_memory);
  ticket const bad = in.steps.replay();
  in.rt.pump();  // makes the changes, for which `good`, which is in flight, leaves no memory
  held.release();
  good.wait();
  EXPECT_TRUE(in.all_are(2));
  EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }), HasSubstr("'write_value'"));
  testing::clear_faults();
  in.steps.replay().wait();
  EXPECT_TRUE(in.all_are(3));
}

}  // namespace
}  // namespace flotilla::test

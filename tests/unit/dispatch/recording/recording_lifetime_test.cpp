// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The graphs of a recording are freed only after the recording's last replay has ended.

#include <flotilla/flotilla.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/contract_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class RecordingLifetime : public contract_test {};
FLOTILLA_CONTRACT(RecordingLifetime);

// requirement
TEST_P(RecordingLifetime, GraphsAreFreedAfterTheLastReplay) {
  host_buffer<std::uint32_t> value{rt(), 1};
  value[0] = 1;
  held_word held{rt()};
  ticket done;
  {
    recording steps{rt()};
    static_cast<void>(
        steps.add(program().step.with_shape({1}, {1})(value.data(), 3u, 1u), {.device = last()}));
    ticket const head = rt().submit(held.launch_of(program()), {.device = last()});
    done = steps.replay({.after = {head}});
  }
  rt().pump();
  EXPECT_NE(inside(rt()).recording_parts().shared.recordings.get(0), nullptr)
      << "a graph was freed before its replay ended";
  held.release();
  done.wait();
  EXPECT_EQ(value[0], 4u);
  EXPECT_TRUE(pumping(rt(), [&] {
    return inside(rt()).recording_parts().shared.recordings.get(0) == nullptr;
  })) << "the graph was not freed after its last replay";
}

// error guess: a recording over several devices may outlive its runtime
TEST(RecordingOfSeveralDevices, MayOutliveItsRuntime) {
  auto rt = std::make_unique<runtime>(runtime_options{.devices = "cpu:2", .workers = 0});
  std::optional<recording> steps{*rt};
  {
    test_program const kernels{*rt};
    for (unsigned i = 0; i < 2; ++i) {
      static_cast<void>(
          steps->add(kernels.nothing.with_shape({1}, {1})(), {.device = device_ordinal{i}}));
    }
    steps->replay().wait();
  }
  ::testing::internal::CaptureStderr();
  rt.reset();
  steps.reset();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("after its runtime"), std::string::npos);
}

}  // namespace
}  // namespace flotilla::test

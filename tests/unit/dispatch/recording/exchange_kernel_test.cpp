// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recordings over two devices whose exchanges are kernels. flotilla uses such kernels only on GPUs,
// so a test kernel replaces the exchange kernel here.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

dispatch::builtin_functions stand_ins(context::context_handle const& context) {
  dispatch::builtin_functions made;
  CUmodule module = nullptr;  // destroyed with the context
  driver::table const& api = context.api();
  EXPECT_EQ(api.module_load_data(&module, test_image().cpu), CUDA_SUCCESS);
  EXPECT_EQ(api.module_get_function(&made.completion, module, "write_number"), CUDA_SUCCESS);
  EXPECT_EQ(api.module_get_function(&made.exchange, module, "exchange_words"), CUDA_SUCCESS);
  return made;
}

class ExchangeKernels : public ::testing::TestWithParam<int> {
 protected:
  runtime rt_{
      make_runtime({.devices = "cpu:2", .workers = GetParam()}, {.cpu_builtins = stand_ins})};
  test_program program_{rt_};
  host_buffer<std::uint32_t> value_{rt_, 1};

  launch step(std::uint32_t factor, std::uint32_t summand) {
    return program_.step.with_shape({1}, {1})(value_.data(), factor, summand);
  }
};
INSTANTIATE_TEST_SUITE_P(workers, ExchangeKernels, ::testing::Values(0, 2));

// requirement: tasks of a replay run in their order, and replays run one after another, even if
// many are in flight
TEST_P(ExchangeKernels, OrderTasksAndReplays) {
  recording steps{rt_};
  recorded_task before = steps.add(step(3, 1), {.device = device_ordinal{0}});
  for (std::uint32_t i = 1; i < 7; ++i) {
    before = steps.add(step(3, i + 1), {.device = device_ordinal{i % 2}, .after = {before}});
  }
  value_[0] = 1;
  std::uint32_t expected = 1;
  for (int replay = 0; replay < 100; ++replay) {
    static_cast<void>(steps.replay());
    for (std::uint32_t i = 0; i < 7; ++i) { expected = expected * 3 + i + 1; }
  }
  rt_.wait_idle();
  EXPECT_EQ(value_[0], expected);
}

// requirement: a replay whose parts have no order between them begins after the replay before it
// has ended on all devices
TEST_P(ExchangeKernels, ReplaysWaitForAllPartsOfTheOneBefore) {
  recording steps{rt_};
  static_cast<void>(steps.add(step(3, 1), {.device = device_ordinal{0}}));
  static_cast<void>(
      steps.add(program_.nothing.with_shape({1}, {1})(), {.device = device_ordinal{1}}));
  recording others{rt_};
  static_cast<void>(others.add(step(5, 2), {.device = device_ordinal{1}}));
  value_[0] = 1;
  std::uint32_t expected = 1;
  ticket last;
  for (int i = 0; i < 30; ++i) {
    last = i == 0 ? steps.replay() : steps.replay({.after = {last}});
    last = others.replay({.after = {last}});
    expected = (expected * 3 + 1) * 5 + 2;
  }
  last.wait();
  EXPECT_EQ(value_[0], expected);
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A kernel faults in a chunk of a bulk.

#include <sys/wait.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <tuple>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/chunk_fixture.hpp"
#include "support/child.hpp"

namespace flotilla::test {
namespace {

class BulkChunkFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, BulkChunkFault, ::testing::Values(0, 1, 2));

/// The exit status of the child if the bulk was not one chunk, or if the fault was seen too early.
/// A busy machine may measure the kernel as long, even after it has measured it as short.
constexpr int without_chunk = 77;

void fault_in_chunk(int workers) {
  runtime rt{{.devices = device_spec(1), .workers = workers}};
  test_program const kernels{rt};
  for (int i = 0; i < 20; ++i) { rt.submit(kernels.nothing.over(1, 1)()).wait(); }
  rt.wait_idle();
  auto const nothing = [](std::size_t) { return std::tuple{}; };
  auto const submit = [&] {
    return rt.submit(bulk(kernels.nothing.over(1, 1), 200, nothing), {.label = "faulty"});
  };
  auto const several = [&] {
    for (int i = 0; i < 5; ++i) { submit().wait(); }
  };
  ASSERT_TRUE(needs_few_batches(rt, 5, several)) << "each bulk must be one chunk";
  testing::fault_kernel(rt.devices()[0], 1, driver_status::illegal_address);
  std::string text;
  for (int i = 0; i < 5 && text.empty(); ++i) {
    try {
      submit().wait();
    } catch (poisoned const& why) { text = why.what(); }
  }
  EXPECT_THROW((void)submit(), poisoned);
  auto const has = [&](char const* part) { return text.find(part) != std::string::npos; };
  // Single tasks, or the first of several chunks. No other text is a reason to try again.
  bool const is_divided =
      has(" tasks: kernel 'nothing'") || (has("items 0 to ") && !has("items 0 to 199 of a bulk"));
  // A thread that waits may see the fault before the thread that launches has noted its launch.
  bool const is_early = has("no launch was in flight") && has("faulted too: kernel 'nothing'");
  bool const may_differ = (is_divided && has("faulty")) || is_early;
  if (may_differ && !::testing::Test::HasFailure()) { std::exit(without_chunk); }
  EXPECT_THAT(text,
              AllOf(HasSubstr("kernel 'nothing', items 0 to 199 of a bulk"), HasSubstr("faulty")));
}

// requirement: if an item of a chunk faults, the error names the items of the chunk as suspects,
// and the runtime ends
TEST_P(BulkChunkFault, ItemsAreSuspects) {
  FLOTILLA_NEED_CPU_DRIVER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int code = without_chunk;
  auto const ended = [&](int status) {
    code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code == 0 || code == without_chunk;
  };
  auto const end = std::chrono::steady_clock::now() + test_timeout;
  while (code == without_chunk && std::chrono::steady_clock::now() < end) {
    EXPECT_EXIT(run_and_exit([] { fault_in_chunk(GetParam()); }), ended, "");
  }
  EXPECT_NE(code, without_chunk)
      << "the bulk was never one chunk whose launch was noted before the fault was seen";
}

}  // namespace
}  // namespace flotilla::test

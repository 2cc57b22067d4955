// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: data that very many tasks have read.

#include <algorithm>
#include <array>
#include <optional>

#include "contract/flow_fixture.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class FlowReaders : public flow_test {
 protected:
  static constexpr std::size_t count = 32;
  static constexpr std::uint32_t many = 66'000;  // a task can have 65535 predecessors

  static void start(word_data& which) {
    words const contents = iota(count);
    std::copy(contents.begin(), contents.end(), which.host_for_update().data);
  }
};
FLOTILLA_CONTRACT(FlowReaders);

// regression: if a flow keeps its graph, tasks also name predecessors that have ended. After 65536
// reads, a task that overwrote the data or used their memory again was refused
TEST_P(FlowReaders, MayBeMoreThanATaskCanName) {
  if (sanitized) { GTEST_SKIP() << "66000 tasks take too long with a sanitizer"; }
  flow logged{rt(), {.keeps_graph = true}};
  word_data x{logged, {count}, "x"}, out{logged, {count}, "out"};
  std::optional<word_data> y{std::in_place, logged, std::array<std::size_t, 1>{count}, "y"};
  start(x);
  start(*y);
  for (std::uint32_t i = 0; i < many; ++i) { logged.post(mix(out, x, *y, i), {.device = last()}); }
  EXPECT_EQ(on_host(out), mixed(iota(count), iota(count), many - 1));

  // A copy overwrites the memory on the device.
  start(x);
  logged.post(stir(x, 7), {.device = last()});
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, 1));

  // Other data get the memory.
  y.reset();
  word_data z{logged, {count}, "z"};
  logged.post(mix(z, x, out, 1), {.device = last()});
  EXPECT_EQ(on_host(z), mixed(on_host(x), on_host(out), 1));
}

}  // namespace
}  // namespace flotilla::test

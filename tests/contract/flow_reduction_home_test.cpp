// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: the place where tasks reduce the data themselves instead of a partial result.

#include <algorithm>

#include "contract/flow_fixture.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class FlowReductionHome : public flow_test {
 protected:
  static constexpr std::size_t size = 40;
};
FLOTILLA_CONTRACT(FlowReductionHome);

// requirement: data from the host are copied once, and the result stays on the device
TEST_P(FlowReductionHome, TakesDataFromTheHostOnce) {
  words host = iota(size), zeros(size);
  word_data x{fl(), host, "x"}, sum{fl(), zeros, "sum"}, copy{fl(), {size}, "copy"};
  fl().post(add(sum, x, 1), {.device = last()});
  rt().wait_idle();
  std::uint64_t const before = fl().counters(last()).bytes_from_host;
  for (std::uint32_t i = 0; i < 5; ++i) {
    fl().post(mix(copy, sum, x, i), {.device = last()});
    fl().post(add(sum, x, 1), {.device = last()});
  }
  rt().wait_idle();
  EXPECT_EQ(fl().counters(last()).bytes_from_host, before);
  EXPECT_EQ(fl().counters(last()).bytes_to_host, 0u);
  words six_x = host;
  for (std::uint32_t& each : six_x) { each *= 6; }
  EXPECT_EQ(on_host(sum), six_x);
}

// requirement: a reduction on one device copies nothing to the host
TEST_P(FlowReductionHome, StaysOnItsDevice) {
  words host = iota(size);
  word_data x{fl(), host, "x"}, sum{fl(), {size}, "sum"}, copy{fl(), {size}, "copy"};
  fl().post(stir(x, 1), {.device = last()});  // x = 3 x + 1
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) { fl().post(add(sum, x, 1), {.device = last()}); }
    fl().post(mix(copy, sum, x, round), {.device = last()});
  }
  rt().wait_idle();
  EXPECT_EQ(fl().counters(last()).bytes_to_host, 0u);
  EXPECT_TRUE(sum.is_valid_on(last()));
  words const stirred_x = stirred(iota(size), 1, 1);
  words twelve_x = stirred_x;
  for (std::uint32_t& each : twelve_x) { each *= 12; }
  EXPECT_EQ(on_host(copy), mixed(twelve_x, stirred_x, 2));
  EXPECT_EQ(on_host(sum), twelve_x);
}

// requirement: a task that is refused after its data were filled with the identity leaves them
// without contents
TEST_P(FlowReductionHome, RefusedTasksGiveNoContents) {
  flow little{rt(), {.memory_limit = 1024}};
  words host = iota(size), many(4096);
  word_data sum{little, {size}, "sum"}, big{little, many, "big"}, x{little, host, "x"};
  auto const nothing = [](auto&&...) {};
  EXPECT_THROW(little.post(uses(reduce(sum), read(big)), nothing, {.device = last()}),
               driver_error);
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(sum.host()); }),
              HasSubstr("no contents"));
  // The identity of the refused task was 0, and that of this one is larger.
  little.post(uses(reduce(sum, minimum{})), host_task([](view<std::uint32_t> part) {
                for (std::size_t i = 0; i < part.size(); ++i) { part(i) = std::min(part(i), 7u); }
              }));
  EXPECT_EQ(on_host(sum), words(size, 7));
  rt().wait_idle();
}

// requirement: if one device has the data, the tasks of the others add to partial results
TEST_P(FlowReductionHome, OtherDevicesAddToTheData) {
  words host = iota(size);
  word_data x{fl(), host, "x"}, sum{fl(), {size}, "sum"};
  fl().post(mix(sum, x, x, 3), {.device = first()});
  words expected = mixed(host, host, 3);
  for (std::uint32_t i = 0; i < 6; ++i) {
    fl().post(add(sum, x, i), {.device = ordinals()[(5 - i) % ordinals().size()]});
    for (std::size_t k = 0; k < size; ++k) { expected[k] += host[k] * i; }
  }
  fl().post(stir(sum, 2), {.device = last()});
  EXPECT_EQ(on_host(sum), stirred(expected, 2, 1));
}

// requirement: an iteration that reads what it reduces on one device is replayed, as in the method
// of conjugate gradients
TEST_P(FlowReductionHome, ReplaysReductionsThatAreRead) {
  words host = iota(size), zeros(size), expected = iota(size);
  word_data x{fl(), host, "x"}, zero{fl(), zeros, "zero"}, sum{fl(), {size}, "sum"};
  int calls = 0;
  fl().repeat(200, [&] {
    ++calls;
    fl().post(mix(sum, zero, zero, 5), {.device = last()});  // sum = 5 + i
    fl().post(add(sum, x, 1), {.device = last()});
    fl().post(add(sum, x, 2), {.device = last()});
    fl().post(add(x, sum, 3), {.device = last()});
  });
  for (int i = 0; i < 200; ++i) {
    words const total = mixed(zeros, zeros, 5);
    for (std::size_t k = 0; k < size; ++k) { expected[k] += (total[k] + 3 * expected[k]) * 3; }
  }
  EXPECT_EQ(on_host(x), expected);
  EXPECT_LT(calls, 10);
}

}  // namespace
}  // namespace flotilla::test

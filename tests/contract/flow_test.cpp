// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: the order that they infer, and the data that they move.

#include <algorithm>
#include <atomic>
#include <thread>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {
namespace {

class Flow : public flow_test {};
FLOTILLA_CONTRACT(Flow);

// requirement: the memory of the application is the copy on the host, and `host` updates it
TEST_P(Flow, DataOfTheHostComeBackChanged) {
  words host = iota(100);
  words expected = host;
  {
    word_data x{fl(), host, "x"};
    fl().post(stir(x, 7));
    fl().post(stir(x, 1));
    EXPECT_EQ(x.host().data, host.data());
  }
  stir_on_host(expected.data(), 100, 7);
  stir_on_host(expected.data(), 100, 1);
  EXPECT_EQ(host, expected);
}

// requirement: tasks on several devices see the results of each other
TEST_P(Flow, DataFollowTheTasksAcrossDevices) {
  words host = iota(64);
  words expected = host;
  word_data x{fl(), host, "x"};
  for (std::uint32_t i = 0; i < 12; ++i) {
    device_ordinal const device = ordinals()[i % ordinals().size()];
    fl().post(stir(x, i), {.device = device});
    EXPECT_TRUE(x.is_valid_on(device));
    EXPECT_FALSE(x.is_valid_on_host());
    stir_on_host(expected.data(), expected.size(), i);
  }
  EXPECT_EQ(on_host(x), expected);
  EXPECT_TRUE(x.is_valid_on_host());
}

// requirement: tasks that read keep all copies valid; a task that writes makes the others invalid
TEST_P(Flow, ReadersShareAndWritersInvalidate) {
  words host_a = iota(64), host_b = iota(64, 9), expected(64);
  word_data a{fl(), host_a, "a"}, b{fl(), host_b, "b"};
  mix_on_host(expected.data(), host_a.data(), host_b.data(), 64, 5);
  for (device_ordinal const device : ordinals()) {
    word_data sum{fl(), {64}, "sum"};
    fl().post(mix(sum, a, b, 5), {.device = device});
    EXPECT_EQ(on_host(sum), expected);
  }
  for (device_ordinal const device : ordinals()) { EXPECT_TRUE(a.is_valid_on(device)); }
  EXPECT_TRUE(a.is_valid_on_host());
  fl().post(stir(a, 1), {.device = last()});
  for (device_ordinal const device : ordinals()) {
    EXPECT_EQ(a.is_valid_on(device), device.value == last().value);
  }
  EXPECT_FALSE(a.is_valid_on_host());
}

// requirement: a task that overwrites data waits for the tasks that read them
TEST_P(Flow, WritersWaitForReaders) {
  words host = iota(64);
  word_data x{fl(), host, "x"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::uint32_t seen = 0;
  ticket const reader =
      fl().submit(uses(read(x)), host_task([&](view<std::uint32_t const> in) { seen = in(1); }),
                  {.after = {held}});
  ticket const writer =
      fl().submit(uses(write(x)), host_task([](view<std::uint32_t> out) { out(1) = 77; }));
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(writer.ready());
  word.release();
  writer.wait();
  EXPECT_TRUE(reader.ready());
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(host[1], 77u);
}

// requirement: `submit` does not wait for data or predecessors
TEST_P(Flow, SubmitDoesNotWaitForData) {
  words host = iota(64);
  word_data x{fl(), host, "x"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  fl().post(stir(x, 1), {.device = last(), .after = {held}});
  for (std::uint32_t i = 2; i < 40; ++i) {
    fl().post(stir(x, i), {.device = ordinals()[i % ordinals().size()]});
  }
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  word.release();
  words expected = iota(64);
  for (std::uint32_t i = 1; i < 40; ++i) { stir_on_host(expected.data(), 64, i); }
  EXPECT_EQ(on_host(x), expected);
}

// requirement: data can be parts of pinned memory of the application
TEST_P(Flow, DataInPinnedMemory) {
  host_buffer<std::uint32_t> pinned{rt(), 3 * 64};
  std::iota(pinned.data(), pinned.data() + pinned.size(), 0u);
  words expected = iota(3 * 64);
  {
    word_data middle{fl(), pinned.subspan(64, 64), "middle"};
    fl().post(stir(middle, 3), {.device = last()});
    view<std::uint32_t const> const seen = middle.host();
    EXPECT_EQ(seen.data, pinned.data() + 64);
    stir_on_host(expected.data() + 64, 64, 3);
    EXPECT_THAT(thrown<invalid_argument>([&] {
                  data<std::uint32_t, 2> bad(fl(), pinned.subspan(0, 64), {8, 9}, "bad");
                }),
                HasSubstr("data 'bad': the extents are 8 x 9, but the memory has 64 objects"));
  }
  EXPECT_EQ(words(pinned.data(), pinned.data() + pinned.size()), expected);
}

// requirement: kernels get views with the extents of the data
TEST_P(Flow, KernelsGetViews) {
  words host = iota(6 * 4);
  data<std::uint32_t, 2> from{fl(), host, {6, 4}, "from"};
  data<std::uint32_t, 2> to{fl(), {4, 6}, "to"};
  fl().post(
      kernels().kernel(flow_kernels.transpose_words).with_shape({1}, {8, 8})(read(from), write(to)),
      {.device = last()});
  view<std::uint32_t const, 2> const seen = to.host();
  ASSERT_EQ(seen.extents[0], 4u);
  ASSERT_EQ(seen.extents[1], 6u);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 6; ++j) { EXPECT_EQ(seen(i, j), host[j * 4 + i]); }
  }
}

// requirement: callables and host tasks get views in the order of the list; tokens give no argument
TEST_P(Flow, CallablesAndHostTasksGetViews) {
  words host_a = iota(8), host_b = iota(8, 100);
  word_data a{fl(), host_a, "a"}, b{fl(), host_b, "b"};
  token order{fl(), "order"};
  std::atomic<int> calls{0};
  fl().post(uses(read(a), update(order), update(b)),
            [&](task_context& task, view<std::uint32_t const> in, view<std::uint32_t> out) {
              EXPECT_EQ(task.device().ordinal.value, last().value);
              EXPECT_EQ(in.size(), 8u);
              EXPECT_NE(in.data, out.data);
              ++calls;
            },
            {.device = last()});
  fl().post(uses(update(order), read(a), update(b)),
            host_task([&](view<std::uint32_t const> in, view<std::uint32_t> out) {
              EXPECT_EQ(in.data, host_a.data());
              for (std::size_t i = 0; i < out.size(); ++i) { out(i) += in(i); }
              ++calls;
            }));
  words const sum = on_host(b);
  EXPECT_EQ(calls, 2);
  for (std::uint32_t i = 0; i < 8; ++i) { EXPECT_EQ(sum[i], 100 + 2 * i); }
}

// requirement: tokens order tasks without data; tasks that read a token have no order
TEST_P(Flow, TokensOrderTasks) {
  token turn{fl(), "turn"};
  std::vector<int> order;
  std::atomic<int> readers{0};
  for (int i = 0; i < 30; ++i) {
    if (i % 3 == 0) {
      fl().post(uses(update(turn)), [&order, i](task_context&) { order.push_back(i); },
                {.device = ordinals()[static_cast<std::size_t>(i) % ordinals().size()]});
    } else if (i % 3 == 1) {
      fl().post(uses(update(turn)), host_task([&order, &readers, i] {
                  order.push_back(i);
                  EXPECT_EQ(readers, i / 3);
                }));
    } else {
      fl().post(uses(read(turn)), host_task([&readers] { ++readers; }));
    }
  }
  rt().wait_idle();
  EXPECT_EQ(readers, 10);
  ASSERT_EQ(order.size(), 20u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// requirement: data can be in a buffer of the application
TEST_P(Flow, DataInADeviceBuffer) {
  words const start = iota(64);
  device_buffer<std::uint32_t> buffer{rt(), last(), start};
  words expected = start;
  {
    word_data x{fl(), buffer, "x"};
    EXPECT_EQ(x.size(), 64u);
    EXPECT_TRUE(x.is_valid_on(last()));
    fl().post(stir(x, 3), {.device = first()});
    fl().submit(stir(x, 4), {.device = last()}).wait();
  }
  stir_on_host(expected.data(), 64, 3);
  stir_on_host(expected.data(), 64, 4);
  words seen(64);
  rt().submit(buffer.copy_to(seen)).wait();
  EXPECT_EQ(seen, expected);
}

// requirement: the application can change data on the host between tasks, and give them their first
// contents there
TEST_P(Flow, HostCanUpdateData) {
  word_data x{fl(), {16}, "x"};
  view<std::uint32_t> const first_contents = x.host_for_update();
  for (std::uint32_t i = 0; i < 16; ++i) { first_contents(i) = i; }
  fl().post(stir(x, 1), {.device = last()});
  view<std::uint32_t> const changed = x.host_for_update();
  EXPECT_FALSE(x.is_valid_on(last()));
  changed(3) = 1000;
  fl().post(stir(x, 2), {.device = last()});
  words const seen = on_host(x);
  EXPECT_EQ(seen[3], 3002u);
  EXPECT_EQ(seen[4], (4u * 3 + 1) * 3 + 2);
}

// requirement: `prefetch_to` and `prefetch_to_host` make copies that stay valid beside the others
TEST_P(Flow, PrefetchMovesData) {
  words host = iota(64);
  word_data x{fl(), host, "x"};
  x.prefetch_to(last());
  EXPECT_TRUE(x.is_valid_on(last()));
  EXPECT_TRUE(x.is_valid_on_host());
  fl().post(stir(x, 1), {.device = last()});
  EXPECT_FALSE(x.is_valid_on_host());
  x.prefetch_to_host();
  EXPECT_TRUE(x.is_valid_on_host());
  EXPECT_TRUE(x.is_valid_on(last()));
  EXPECT_EQ(on_host(x)[2], 7u);
}

// requirement: data may end while tasks use them, and later data may get their memory. regression
// for what would happen without `block::last_users`
TEST_P(Flow, DataMayEndBeforeTheirTasks) {
  words const start = iota(64);
  words expected(64), middle_expected(64);
  word_data result{fl(), {64}, "result"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  {
    word_data from{fl(), {64}, "from"}, twin{fl(), {64}, "twin"};
    for (word_data* each : {&from, &twin}) {
      view<std::uint32_t> const contents = each->host_for_update();
      std::copy(start.begin(), start.end(), contents.data);
      each->prefetch_to(last());
    }
    fl().post(mix(result, from, twin, 2), {.device = last(), .after = {held}});
  }
  for (int i = 0; i < 4; ++i) {  // these data get the memory of the data above
    word_data other{fl(), {64}, "other"};
    fl().post(uses(write(other)), [](task_context&, view<std::uint32_t>) {}, {.device = last()});
    fl().post(stir(other, 99), {.device = last()});
  }
  word.release();
  mix_on_host(expected.data(), start.data(), start.data(), 64, 2);
  EXPECT_EQ(on_host(result), expected);
}

}  // namespace
}  // namespace flotilla::test

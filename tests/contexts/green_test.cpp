// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A green context contains some of the multiprocessors of a GPU. flotilla uses each green context
// as a separate device.
#include "contexts_test.hpp"

#include <numeric>
#include <set>

#include <test_contexts_kernels.hpp>

#include "support/eventually.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class GreenContexts : public contexts_test {
 protected:
  static constexpr unsigned part = 16, most = 1024;

  void SetUp() override {
    contexts_test::SetUp();
    if (IsSkipped()) { return; }
    CUdevice device{};
    ASSERT_OK(cu().device_get(&device, 0));
    int there = 0;
    ASSERT_OK(cu().device_get_attribute(&there, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    if (there < static_cast<int>(2 * part)) {
      GTEST_SKIP() << "needs " << 2 * part << " multiprocessors";
    }
  }
  /// Returns the device specification of `parts` green contexts on one device, each with 16
  /// multiprocessors.
  static std::string green(unsigned parts) {
    return device_spec(1) + "/green:" + std::to_string(part) + "*" + std::to_string(parts);
  }
  /// Runs a grid of 4096 blocks.
  /// @return the multiprocessors on which blocks ran.
  static std::set<unsigned> used_by(runtime& rt, program const& loaded, device_ordinal where) {
    constexpr unsigned blocks = 4096;
    auto const kernel =
        loaded.kernel<std::uint32_t*, unsigned, unsigned long long>("where_blocks_ran");
    std::vector<std::uint32_t> seen(most, 0);
    device_buffer<std::uint32_t> there{rt, where, seen};
    ticket const ran = rt.submit(kernel.with_shape({blocks}, {32})(there, most, 2000ull));
    ticket const back = rt.submit(there.copy_to(seen), {.after = {ran}});
    if (!back.wait_for(test_timeout)) {
      ADD_FAILURE() << "the kernel did not end in time on device " << where.value;
      return {};
    }
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0u), blocks) << "not every block ran once";
    std::set<unsigned> used;
    for (unsigned i = 0; i < most; ++i) {
      if (seen[i] != 0) { used.insert(i); }
    }
    return used;
  }
};

// S4.1: the blocks of a task run on all multiprocessors of the green context and on no others
TEST_F(GreenContexts, TasksRunOnThePartsMultiprocessors) {
  runtime rt{{.devices = green(1), .workers = 1}};
  program const loaded = rt.load(test_contexts_kernels);
  EXPECT_EQ(rt.devices()[0].multiprocessors, static_cast<int>(part));
  EXPECT_EQ(used_by(rt, loaded, device_ordinal{0}).size(), part);
}

// S4.1: two green contexts have no multiprocessor in common
TEST_F(GreenContexts, PartsHaveNoMultiprocessorInCommon) {
  runtime rt{{.devices = green(2), .workers = 1}};
  ASSERT_EQ(rt.devices().size(), 2u);
  program const loaded = rt.load(test_contexts_kernels);
  std::set<unsigned> const of_first = used_by(rt, loaded, device_ordinal{0});
  std::set<unsigned> const of_second = used_by(rt, loaded, device_ordinal{1});
  EXPECT_EQ(of_first.size(), part);
  EXPECT_EQ(of_second.size(), part);
  for (unsigned const each : of_first) {
    EXPECT_FALSE(of_second.contains(each)) << "multiprocessor in both parts: " << each;
  }
}

// S4.2: while a kernel occupies one green context, kernels in another green context run, because
// the two contexts have different multiprocessors
TEST_F(GreenContexts, TheRestServesAnotherDeviceMeanwhile) {
  if (!on_gpus()) {
    GTEST_SKIP() << "needs a GPU: a CPU device runs one kernel at a time, whatever its parts";
  }
  runtime rt{{.devices = green(2), .workers = 2}};
  program const loaded = rt.load(test_contexts_kernels);
  test_program const held_program{rt};
  constexpr device_ordinal first{0}, second{1};
  (void)used_by(rt, loaded, first);  // so that the driver allocates memory before a kernel is held
  held_word word{rt};
  ticket const held = rt.submit(word.launch_of(held_program), {.device = second});
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  EXPECT_EQ(used_by(rt, loaded, first).size(), part);
  EXPECT_FALSE(held.ready()) << "the kernel on the second part must still be held";
  word.release();
  held.wait();
}

// error guess: the graphs of a recording over two parts of a device wait for each other, although
// the parts share the hardware connections of the device. If streams waited, and not kernels,
// chains of eight tasks or more would hold all connections, and wait forever
TEST_F(GreenContexts, RecordingsOverTwoPartsRun) {
  runtime rt{{.devices = green(2), .workers = 1, .fuse_launches = false}};
  test_program const kernels{rt};
  for (unsigned const chains : {1u, 4u, 24u}) {
    host_buffer<std::uint32_t> values{rt, chains};
    recording steps{rt};
    for (unsigned i = 0; i < chains; ++i) {
      values[i] = i;
      recorded_task before;
      for (unsigned step = 0; step < 12; ++step) {
        recorded_options how{.device = device_ordinal{(i + step / 3) % 2}};
        if (step != 0) { how.after = {before}; }
        before = steps.add(kernels.step.with_shape({1}, {1})(values.data() + i, 3u, step), how);
      }
    }
    for (int replay = 0; replay < 5; ++replay) { static_cast<void>(steps.replay()); }
    rt.wait_idle();
    for (unsigned i = 0; i < chains; ++i) {
      std::uint32_t expected = i;
      for (unsigned step = 0; step < 60; ++step) { expected = expected * 3 + step % 12; }
      EXPECT_EQ(values[i], expected) << "chain " << i << " of " << chains;
    }
  }
}

// S4.4: each part of a device has a separate context, but a kernel on one part can access memory of
// another part
TEST_F(GreenContexts, PartsReachEachOthersMemory) {
  runtime rt{{.devices = green(2), .workers = 1}};
  program const loaded = rt.load(test_contexts_kernels);
  constexpr device_ordinal first{0}, second{1};
  auto const put = loaded.kernel<int*, int>("put");
  device_buffer<int> word{rt, first, 1};
  ticket const written = rt.submit(put.with_shape({1}, {1})(word.data(), 5), {.device = second});
  int seen = 0;
  rt.submit(word.copy_to(std::span{&seen, 1}), {.after = {written}}).wait();
  EXPECT_EQ(seen, 5);
  std::vector<CUcontext> contexts(2);
  for (device_ordinal const each : {first, second}) {
    rt.submit([&](task_context& context) { contexts[each.value] = context.context(); },
              {.device = each})
        .wait();
  }
  EXPECT_NE(contexts[0], contexts[1]);
}

// S4.5: a green context can be current on only one thread at a time
TEST_F(GreenContexts, AreOneThreadsAtATime) {
  context_driver const driver = on_gpus() ? context_driver::gpus() : context_driver::cpus(1);
  device_settings asked;
  asked.context = context_source::green(part);
  floating_context const own{driver, driver.devices()[0], asked};
  context_scope const here{own};
  elsewhere([&] {
    EXPECT_THROW(context_scope{own}, context_in_use);
    EXPECT_EQ(current(), nullptr);
  });
  EXPECT_EQ(current(), own.ref().handle());
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Runtimes on a device whose memory is full. A runtime allocates at its start what its tasks need,
// so tasks do not fail for lack of memory.
#include <flotilla/testing/fault_injection.hpp>

#include "contexts_test.hpp"

#include <cstdio>
#include <exception>
#include <numeric>

#include <test_contexts_kernels.hpp>

#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

constexpr device_ordinal here{0};

class FullDevice : public contexts_test {
 protected:
  /// Fills the memory of device 0 from a context of its own, which is current afterwards. `destroy`
  /// frees the memory.
  CUcontext fill_memory() {
    CUcontext const made = create();
    for (std::size_t piece : {std::size_t{1} << 30, std::size_t{64} << 20, std::size_t{1} << 20}) {
      CUdeviceptr taken = 0;
      while (cu().mem_alloc(&taken, piece) == CUDA_SUCCESS) {}
    }
    CUdeviceptr none = 0;
    EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu().mem_alloc(&none, 64u << 20));
    return made;
  }
  static runtime_options one_device() { return {.devices = device_spec(1), .workers = 1}; }
  /// Returns the error of a task, or "" if it succeeded.
  static std::string error_of(ticket const& task) {
    try {
      task.wait();
      return {};
    } catch (std::exception const& thrown) { return thrown.what(); }
  }
};

// C4.11 C4.28: copies of pageable memory through a runtime succeed while the memory of the device
// is full, even the first copy. The runtime has allocated a staging buffer when it started
TEST_F(FullDevice, PageableCopiesOfARuntimeSucceed) {
  constexpr std::size_t words = 4u << 20;
  runtime rt{one_device()};
  device_buffer<std::uint32_t> memory{rt, here, words};
  CUcontext const full = fill_memory();
  std::vector<std::uint32_t> from(words), to(words);
  std::iota(from.begin(), from.end(), 7u);
  ticket const up = rt.submit(memory.copy_from(from));
  ticket const down = rt.submit(memory.copy_to(to), {.after = {up}});
  EXPECT_EQ(error_of(up), "");
  EXPECT_EQ(error_of(down), "");
  EXPECT_EQ(from, to);
  destroy(full);
}

// C4.27: tasks of every kind succeed while the memory of the device is full: launches in batches
// and alone, callables, fills and copies. The kernels were loaded before
TEST_F(FullDevice, TasksOfEveryKindSucceed) {
  constexpr unsigned tasks = 300;
  runtime rt{one_device()};
  test_program const kernels{rt};
  device_buffer<std::uint32_t> words{rt, here, tasks}, copied{rt, here, tasks};
  host_buffer<std::uint32_t> pinned{rt, tasks};
  CUcontext const full = fill_memory();
  std::vector<ticket> open;
  ticket const filled = rt.submit(words.fill(0));
  for (unsigned i = 0; i < tasks; ++i) {
    open.push_back(rt.submit(
        kernels.write.with_shape({1}, {1})(words.subspan(i, 1), i),
        {.label = i % 3 == 0 ? "alone" : "batch", .after = {filled}, .batch = i % 3 != 0}));
  }
  rt.wait_idle();
  ticket const called = rt.submit(
      [&](task_context& context) {
        EXPECT_OK(
            cu().memset_d8_async(copied.address(), 0xff, copied.size_bytes(), context.stream()));
      },
      {.label = "callable"});
  ticket const across = rt.submit(copied.copy_from(words), {.label = "copy", .after = {called}});
  ticket const down = rt.submit(copied.copy_to(pinned), {.label = "down", .after = {across}});
  for (ticket const* const each : {&filled, &called, &across, &down}) {
    EXPECT_EQ(error_of(*each), "");
  }
  for (ticket const& each : open) { EXPECT_EQ(error_of(each), ""); }
  for (unsigned i = 0; i < tasks; ++i) { EXPECT_EQ(pinned[i], i); }
  destroy(full);
}

// C4.27: the streams of an urgent level are created for the first task of this level. If the driver
// has no memory for them, that task fails with an error that says so, and other tasks succeed
TEST_F(FullDevice, TheFirstUrgentTaskSucceedsOrFailsAlone) {
  runtime rt{one_device()};
  test_program const kernels{rt};
  device_buffer<std::uint32_t> words{rt, here, 3};
  auto const write = [&](unsigned at, int priority) {
    return rt.submit(kernels.write.with_shape({1}, {1})(words.subspan(at, 1), 40 + at),
                     {.priority = priority});
  };
  EXPECT_EQ(error_of(write(2, -2)), "") << "the level -2 has its streams before the memory is full";
  CUcontext const full = fill_memory();
  std::string const first = error_of(write(0, -5));
  std::fprintf(stderr, "measured: the first task with priority -5 on a full device: %s\n",
               first.empty() ? "succeeded" : first.c_str());
  if (!first.empty()) { EXPECT_THAT(first, HasSubstr("cuStreamCreateWithPriority")); }
  EXPECT_EQ(error_of(write(1, 0)), "");
  EXPECT_EQ(error_of(write(2, -2)), "");
  destroy(full);
  EXPECT_EQ(error_of(write(0, -5)), "");
  std::uint32_t seen[3] = {};
  rt.submit(words.copy_to(seen)).wait();
  for (unsigned i = 0; i < 3; ++i) { EXPECT_EQ(seen[i], 40 + i); }
}

// C4.29: if a runtime cannot allocate what it needs, the constructor throws an error that names the
// device, and leaves nothing behind. On a CPU device, the driver is told to refuse the calls
TEST_F(FullDevice, ARuntimeIsRefusedAndLeavesNothingBehind) {
  auto const refused = [] {
    return thrown<driver_error>([] { runtime const none{one_device()}; });
  };
  auto const is_complete = AllOf(HasSubstr("device 0"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  if (on_gpus()) {
    CUcontext const witness = create();
    { runtime const warm{one_device()}; }
    std::size_t before = 0, after = 0, total = 0;
    EXPECT_OK(cu().mem_get_info(&before, &total));
    CUcontext const full = fill_memory();
    EXPECT_THAT(refused(), is_complete);
    EXPECT_EQ(current(), full);
    destroy(full);
    EXPECT_EQ(current(), witness);
    EXPECT_OK(cu().mem_get_info(&after, &total));
    constexpr std::size_t margin = 64u << 20;  // for other processes that use the device
    EXPECT_GE(after + margin, before);
    pop();
  } else {
    std::size_t const handles = live_handles();
    for (char const* const call : {"cuCtxCreate", "cuMemHostAlloc", "cuStreamCreateWithPriority"}) {
      testing::fail_call(call, 1, driver_status::out_of_memory);
      EXPECT_THAT(refused(), AllOf(is_complete, HasSubstr(call)));
      testing::clear_faults();
      EXPECT_EQ(live_handles(), handles) << call;
      EXPECT_EQ(current(), nullptr) << call;
    }
  }
  runtime rt{one_device()};
  EXPECT_EQ(error_of(rt.submit([](task_context&) {})), "");
}

// C4.30 C4.31: if the device has no memory for the local memory of a kernel, only the task with
// that kernel fails, in a batch and alone, and its error names the kernel
TEST_F(FullDevice, ALaunchWithoutRoomForItsLocalMemoryFailsAlone) {
  if (!on_gpus()) { GTEST_SKIP() << "needs a GPU: a CPU device has its local memory on the host"; }
  constexpr unsigned neighbours = 20;
  for (bool const batch : {true, false}) {
    runtime rt{{.devices = device_spec(1), .workers = 0}};  // so that the tasks share a batch
    program const loaded = rt.load(test_contexts_kernels);
    auto const put = loaded.kernel<int*, int>("put").with_shape({1}, {1});
    auto const large = loaded.kernel<unsigned, unsigned*>("large_frame").with_shape({4096}, {256});
    device_buffer<int> words{rt, here, neighbours};
    device_buffer<unsigned> out{rt, here, 1};
    rt.submit(put(words.subspan(0, 1), 0)).wait();
    CUcontext const full = fill_memory();
    std::vector<ticket> open;
    std::optional<ticket> failing;
    for (unsigned i = 0; i < neighbours; ++i) {
      if (i == neighbours / 2) { failing = rt.submit(large(1u, out), {.batch = batch}); }
      open.push_back(rt.submit(put(words.subspan(i, 1), static_cast<int>(i)), {.batch = batch}));
    }
    std::string const why = error_of(*failing);
    std::fprintf(stderr, "measured: %s: %s\n", batch ? "in a batch" : "alone", why.c_str());
    EXPECT_THAT(why, HasSubstr("large_frame"));
    for (ticket const& each : open) { EXPECT_EQ(error_of(each), ""); }
    std::vector<int> seen(neighbours, -1);
    EXPECT_EQ(error_of(rt.submit(words.copy_to(seen))), "");
    for (unsigned i = 0; i < neighbours; ++i) { EXPECT_EQ(seen[i], static_cast<int>(i)); }
    destroy(full);
    EXPECT_EQ(error_of(rt.submit(large(1u, out), {.batch = batch})), "") << "with memory again";
  }
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Small copies and fills that kernels execute: their results, and which copies they are.

#include "unit/dispatch/device/kernel_copies_fixture.hpp"

namespace flotilla::test {
namespace {

class KernelCopies : public kernel_copies_test {};

// requirement
TEST_F(KernelCopies, OfEverySizeAndAlignmentAreCorrect) {
  for (int const workers : {0, 2}) {
    runtime rt = make({.devices = "cpu:2", .workers = workers});
    for (std::size_t const size : {1u, 15u, 16u, 33u, 1000u, 4097u, 16385u, 65536u}) {
      if (sanitized && size > 4097) { break; }
      small_copies::copy_with_every_offset(rt, device, device, size);
      small_copies::copy_with_every_offset(rt, device_ordinal{1}, device, size);
    }
  }
}

// requirement
TEST_F(KernelCopies, FillsWithValuesOfEverySizeAreCorrect) {
  runtime rt = make();
  small_copies::fill_with_values_of<1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33, 48, 63, 64>(
      rt, device, sanitized ? 2000 : 66000);
}

// requirement
TEST_F(KernelCopies, RunInOrderWithKernels) {
  for (int const workers : {0, 2}) {
    runtime rt = make({.workers = workers});
    test_program const program{rt};
    small_copies::pipeline(rt, program, device, static_cast<unsigned>(scaled(300, 30)), 1000, 4);
    small_copies::pipeline(rt, program, device, static_cast<unsigned>(scaled(100, 20)), 16384, 3);
  }
}

// requirement: a burst of copies is a few grids, and no copy engine is used
TEST_F(KernelCopies, ABurstOfCopiesIsAFewGrids) {
  runtime rt = make();
  uploads all{rt, 300};
  testing::fail_call(upload_call, 1, driver_status::invalid_value);
  std::uint64_t const before = batches(rt);
  static_cast<void>(all.submit(rt));
  rt.wait_idle();
  EXPECT_LE(batches(rt) - before, 12u) << "at least 32 copies fit into a grid";
  EXPECT_EQ(rt.counters(device).failed, 0u);
  testing::clear_faults();
  EXPECT_EQ(all.arrived(rt), all.all());
}

// requirement: the items of a bulk share grids too
TEST_F(KernelCopies, ABulkOfCopiesIsAFewGrids) {
  runtime rt = make();
  uploads all{rt, 300};
  testing::fail_call(upload_call, 1, driver_status::invalid_value);
  std::uint64_t const before = batches(rt);
  rt.submit(bulk(all.count, [&](std::size_t i) { return all.copy(static_cast<unsigned>(i)); }))
      .wait();
  EXPECT_LE(batches(rt) - before, 12u);
  testing::clear_faults();
  EXPECT_EQ(all.arrived(rt), all.all());
}

// requirement: chunks that are copied up, used by a kernel and copied down share their batches
TEST_F(KernelCopies, APipelineOfChunksIsAFewGrids) {
  runtime rt = make();
  test_program const program{rt};
  small_copies::pipeline(rt, program, device, 20, 1024, 10);  // measures the kernel
  std::uint64_t const before = batches(rt);
  small_copies::pipeline(rt, program, device, 190, 1024);
  EXPECT_LE(batches(rt) - before, 60u) << "one batch for each chunk would be 190";
}

// requirement: a chain of a copy, a kernel and a copy uses no copy engine
TEST_F(KernelCopies, AChainUsesNoCopyEngine) {
  runtime rt = make();
  test_program const program{rt};
  small_copies::pipeline(rt, program, device, 20, 1024, 10);
  std::uint64_t const before = batches(rt);
  for (char const* const call : {upload_call, "cuMemcpyDtoHAsync"}) {
    testing::fail_call(call, 1, driver_status::invalid_value);
  }
  small_copies::pipeline(rt, program, device, 1, 1024);
  // If the kernel is slow, as with a sanitizer, it is not in the batch of the copies.
  EXPECT_LE(batches(rt) - before, 3u);
}

// requirement: a single copy uses a copy engine, which is as fast and needs no multiprocessor
TEST_F(KernelCopies, ALoneCopyUsesACopyEngine) {
  runtime rt = make();
  uploads one{rt, 1};
  testing::fail_call(upload_call, 1, driver_status::invalid_value);
  EXPECT_THAT(thrown<driver_error>([&] { rt.submit(one.copy(0)).wait(); }),
              AllOf(StartsWith(upload_call), HasSubstr("a copy of 4096 bytes from the host")));
}

// requirement: a fill for which the driver has no call is a kernel even if it is alone
TEST_F(KernelCopies, AFillThatNeedsManyCallsIsAKernel) {
  runtime rt = make();
  device_buffer<std::array<std::uint32_t, 3>> there{rt, device, 100};
  host_buffer<std::array<std::uint32_t, 3>> back{rt, 100};
  for (char const* const call : {"cuMemsetD32Async", "cuMemcpyDtoDAsync"}) {
    testing::fail_call(call, 1, driver_status::invalid_value);
  }
  std::array<std::uint32_t, 3> const value{1, 2, 3};
  rt.submit(there.fill(value)).wait();
  testing::clear_faults();
  rt.submit(there.copy_to(back)).wait();
  EXPECT_EQ(std::count(back.begin(), back.end(), value), 100);
}

// requirement: large copies, tasks that share no batch, and runtimes without grids use the copy
// engines
TEST_F(KernelCopies, OthersUseTheCopyEngines) {
  auto const expect_engine = [](runtime& rt, std::size_t size, task_options const& options) {
    host_buffer<std::uint8_t> up{rt, 2 * size};
    device_buffer<std::uint8_t> there{rt, device, 2 * size};
    testing::fail_call(upload_call, 1, driver_status::invalid_value);
    testing::fail_call(upload_call, 2, driver_status::invalid_value);
    std::vector<ticket> both;
    for (std::size_t const at : {std::size_t{0}, size}) {
      both.push_back(rt.submit(there.subspan(at, size).copy_from(up.subspan(at, size)), options));
    }
    for (ticket const& each : both) { EXPECT_THROW(each.wait(), driver_error); }
    testing::clear_faults();
  };
  runtime rt = make();
  expect_engine(rt, 65537, {});
  expect_engine(rt, small, {.batch = false});
  runtime unfused = make({.fuse_launches = false});
  expect_engine(unfused, small, {});
}

// boundary: copies with narrow words use a kernel only if they are small
TEST_F(KernelCopies, NarrowWordsNeedSmallCopies) {
  runtime rt = make();
  host_buffer<std::uint8_t> up{rt, 20000};
  device_buffer<std::uint8_t> there{rt, device, 20000};
  auto const two = [&](std::size_t offset, std::size_t size) {
    return std::array{rt.submit(there.subspan(0, size).copy_from(up.subspan(offset, size))),
                      rt.submit(there.subspan(size, size).copy_from(up.subspan(offset, size)))};
  };
  testing::fail_call(upload_call, 1, driver_status::invalid_value);
  for (ticket const& each : two(1, 4096)) { EXPECT_NO_THROW(each.wait()); }
  for (ticket const& each : two(2, 8192)) { EXPECT_NO_THROW(each.wait()); }
  EXPECT_THROW(two(1, 4098)[0].wait(), driver_error);
}

// requirement: memory that kernels may not be able to access is copied by the copy engines
TEST_F(KernelCopies, MemoryOutOfReachUsesTheCopyEngines) {
  alignas(4096) static std::uint8_t words[2 * small];
  runtime rt = make();
  driver::table const& api = inside(rt).devices[0].context().api();
  inside(rt).operations.run(0, [&](dispatch::device_driver&) {
    ASSERT_EQ(api.mem_host_register(words, sizeof words, CU_MEMHOSTREGISTER_DEVICEMAP),
              CUDA_SUCCESS);
  });
  device_buffer<std::uint8_t> there{rt, device, 2 * small};
  for (bool const has_other_address : {false, true}) {
    if (has_other_address) {
      testing::fail_call("cuMemHostGetDevicePointer", 1, driver_status::invalid_value);
    }
    auto const view = view_pinned_memory(rt, words, sizeof words);
    testing::fail_call(upload_call, 1, driver_status::invalid_value);
    ticket const first = rt.submit(there.subspan(0, small).copy_from(view.subspan(0, small)));
    ticket const second = rt.submit(there.subspan(small).copy_from(view.subspan(small)));
    if (has_other_address) {
      EXPECT_THROW(first.wait(), driver_error);
    } else {
      EXPECT_NO_THROW(first.wait());
    }
    second.wait();
    testing::clear_faults();
  }
  inside(rt).operations.run(0, [&](dispatch::device_driver&) {
    EXPECT_EQ(api.mem_host_unregister(words), CUDA_SUCCESS);
  });
}

// requirement: a kernel copies between devices only if its device has access to the other's memory,
// and flotilla has allocated the memory
TEST_F(KernelCopies, CopiesBetweenDevicesNeedPeerAccess) {
  constexpr char call[] = "cuMemcpyPeerAsync";
  constexpr device_ordinal other{1};
  for (bool const has_access : {false, true}) {
    runtime_options options{.devices = "cpu:2"};
    options.settings.all.peer_access = has_access;
    runtime rt = make(options);
    device_buffer<std::uint8_t> from{rt, other, 2 * small}, to{rt, device, 2 * small};
    auto const copy_two = [&](device_span<std::uint8_t> source) {
      testing::fail_call(call, 1, driver_status::invalid_value);
      ticket const first = rt.submit(source.subspan(0, small).copy_to(to.subspan(0, small)));
      ticket const second = rt.submit(source.subspan(small).copy_to(to.subspan(small)));
      bool failed = false;
      try {
        first.wait();
      } catch (driver_error const&) { failed = true; }
      second.wait();
      testing::clear_faults();
      return failed;
    };
    EXPECT_EQ(copy_two(from.span()), !has_access);
    auto const view =
        view_device_memory(rt, other, reinterpret_cast<std::uint8_t*>(from.address()), 2 * small);
    EXPECT_TRUE(copy_two(view)) << "flotilla does not know the context of the memory";
  }
}

}  // namespace
}  // namespace flotilla::test

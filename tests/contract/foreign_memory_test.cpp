// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Views of memory that the application has allocated, and kernels of the application.

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/application.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class ForeignMemory : public contract_test {
 protected:
  static constexpr std::size_t count = 100;
  void SetUp() override {
    contract_test::SetUp();
    if (IsSkipped()) { return; }
    app_.emplace();
    app_->inside(
        [&] { return driver_in_use().mem_alloc(&memory_, count * sizeof(std::uint32_t)); });
  }
  void TearDown() override {
    stop();
    if (app_) {
      app_->inside([&] { return driver_in_use().mem_free(memory_); });
      app_.reset();
    }
    contract_test::TearDown();
  }
  [[nodiscard]] std::uint32_t* memory() const { return reinterpret_cast<std::uint32_t*>(memory_); }

  std::optional<application> app_;
  CUdeviceptr memory_ = 0;  // on the first device, in the context of the application
};
INSTANTIATE_TEST_SUITE_P(all_tbb_threads, ForeignMemory,
                         ::testing::Values(arrangement{1, 1, tbb_threads::all},
                                           arrangement{2, 2, tbb_threads::all}),
                         arrangement_name);

// requirement: kernels, copies, fills and parts work on memory of the application
TEST_P(ForeignMemory, SpanOfDeviceMemoryWorksLikeABuffer) {
  auto const span = view_device_memory(rt(), first(), memory(), count);
  EXPECT_EQ(span.device(), first());
  ticket const filled = rt().submit(span.fill(4u));
  ticket const stepped = rt().submit(
      program().step.with_shape({1}, {1})(span.subspan(7, 1), 3u, 1u), {.after = {filled}});
  std::vector<std::uint32_t> back(count);
  rt().submit(span.copy_to(back), {.after = {stepped}}).wait();
  std::vector<std::uint32_t> expected(count, 4u);
  expected[7] = 13;
  EXPECT_EQ(back, expected);
  device_buffer<std::uint32_t> copy{rt(), last(), count};
  ticket const copied = rt().submit(span.copy_to(copy));
  rt().submit(copy.copy_to(back), {.after = {copied}}).wait();
  EXPECT_EQ(back, expected);
}

// requirement: a span of pinned memory of the application is copied without staging, and kernels
// can use it
TEST_P(ForeignMemory, SpansOfRegisteredMemoryWork) {
  alignas(4096) static std::uint32_t words[1024];
  app_->inside([&] {
    return driver_in_use().mem_host_register(
        words, sizeof words, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  });
  std::iota(std::begin(words), std::end(words), 0u);
  {
    auto const pinned = view_pinned_memory(rt(), words, 1024);
    device_buffer<std::uint32_t> buffer{rt(), last(), pinned.size()};
    rt().submit(buffer.copy_from(pinned)).wait();
    std::fill(std::begin(words), std::end(words), 0u);
    rt().submit(buffer.copy_to(pinned)).wait();
    EXPECT_EQ(words[1023], 1023u);
    auto const mapped = view_device_memory(rt(), last(), words, 1024);
    rt().submit(program().step.with_shape({1}, {1})(mapped.subspan(1023), 2u, 1u)).wait();
    EXPECT_EQ(words[1023], 2047u);
  }
  stop();
  app_->inside([&] { return driver_in_use().mem_host_unregister(words); });
}

// requirement: a view of memory that the device cannot access is refused, and the message says why
TEST_P(ForeignMemory, WrongMemoryIsRefused) {
  auto const view = [this](device_ordinal device, std::uint32_t* memory, std::size_t size) {
    return view_device_memory(rt(), device, memory, size);
  };
  std::vector<std::uint32_t> pageable(count);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)view(first(), pageable.data(), count); }),
              HasSubstr("pageable host memory"));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)view(first(), memory(), count + 1000000); }),
              AllOf(HasSubstr("4000400 bytes"), HasSubstr("do not fit")));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)view(first(), memory(), SIZE_MAX); }),
              HasSubstr("do not fit"));
  EXPECT_THAT(thrown<unknown_device>([&] { (void)view(device_ordinal{9}, memory(), count); }),
              HasSubstr("9"));
  if (device_count() > 1) {
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)view(last(), memory(), count); }),
                HasSubstr("is on the driver's device 0, but device 1"));
  }
  EXPECT_THAT(
      thrown<invalid_argument>([&] { (void)view_pinned_memory(rt(), pageable.data(), count); }),
      HasSubstr("not pinned"));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)view_pinned_memory(rt(), memory(), count); }),
              HasSubstr("device memory"));
  EXPECT_NO_THROW(((void)view(first(), nullptr, 0)));
}

// requirement: a kernel of a library of the application runs as a task, on every device
TEST_P(ForeignMemory, KernelOfTheApplicationRunsAsATask) {
  driver::table const& api = driver_in_use();
  image const& test = test_image();
  CUlibrary library = nullptr;
  CUkernel write = nullptr;
  ASSERT_EQ(api.library_load_data(&library, on_gpus() ? test.gpu : test.cpu, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(api.library_get_kernel(&write, library, "write_value"), CUDA_SUCCESS);
  auto const kernel = adopt_kernel<std::uint32_t*, std::uint32_t>(rt(), write);
  for (device_ordinal const device : ordinals()) {
    device_word value{rt(), device, 1};
    EXPECT_EQ(value.read({rt().submit(kernel.with_shape({1}, {1})(value.buffer(), 7u))}), 7u);
  }
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)adopt_kernel<std::uint32_t*>(rt(), write); }),
              AllOf(HasSubstr("write_value"), HasSubstr("2 parameters")));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)adopt_kernel<>(rt(), nullptr); }),
              HasSubstr("null"));
  stop();
  EXPECT_EQ(api.library_unload(library), CUDA_SUCCESS);
}

}  // namespace
}  // namespace flotilla::test

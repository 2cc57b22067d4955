// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Cache preferences of single kernels. They override the preference of the context.

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class KernelCache : public guest_test {};

// requirement: the preference of a kernel does not change the preference of the context
TEST_F(KernelCache, KernelsPreferenceLeavesTheContextsAlone) {
  runtime_options options{.devices = device_spec(1), .workers = 0};
  options.settings = settings::parse("cache=shared");
  runtime rt{options};
  program const loaded = rt.load(test_image());
  loaded.prefer_cache(device_ordinal{0}, "write_value", cache_preference::l1);
  cache_preference seen = cache_preference::none;
  rt.submit([&](task_context& now) {
      seen = context_driver::of(rt).adopt(now.context()).cache();
    }).wait();
  EXPECT_EQ(seen, cache_preference::shared);
  device_buffer<std::uint32_t> word{rt, device_ordinal{0}, 1};
  std::uint32_t back = 0;
  auto const write = loaded.kernel<std::uint32_t*, std::uint32_t>("write_value");
  rt.submit(write.over(1)(word, 7u)).wait();
  rt.submit(word.copy_to(std::span{&back, 1})).wait();
  EXPECT_EQ(back, 7u) << "the kernel must still run";
}

// requirement
TEST_F(KernelCache, RefusedPreferenceNamesItsKernel) {
  runtime rt{{.devices = device_spec(1), .workers = 0}};
  program const loaded = rt.load(test_image());
  EXPECT_THAT(thrown<unknown_symbol>(
                  [&] { loaded.prefer_cache(device_ordinal{0}, "no_such", cache_preference::l1); }),
              HasSubstr("no_such"));
  EXPECT_THROW(loaded.prefer_cache(device_ordinal{7}, "write_value", cache_preference::l1),
               unknown_device);
  FLOTILLA_NEED_CPU_DRIVER();
  testing::fail_call("cuFuncSetCacheConfig", 1, driver_status::invalid_handle);
  EXPECT_THAT(thrown<driver_error>([&] {
                loaded.prefer_cache(device_ordinal{0}, "write_value", cache_preference::equal);
              }),
              AllOf(HasSubstr("write_value"), HasSubstr("equal"), HasSubstr("device 0")));
  testing::clear_faults();
}

}  // namespace
}  // namespace flotilla::test

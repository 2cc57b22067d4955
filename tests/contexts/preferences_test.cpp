// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Preferences of contexts and functions for the cache configuration and the bank width.
#include "contexts_test.hpp"

#include <optional>

namespace flotilla::test {
namespace {

class ContextPreferences : public contexts_test {
 protected:
  static CUfunc_cache cache() {
    CUfunc_cache now{};
    EXPECT_OK(cu().ctx_get_cache_config(&now));
    return now;
  }
  /// Runs a kernel that computes the sum of the numbers from 1 to `words` in dynamic shared memory.
  /// Checks the sum.
  static void expect_sums(CUfunction sum_shared, unsigned words) {
    std::uint32_t* const out = pinned(1);
    void* arguments[] = {&words, const_cast<std::uint32_t**>(&out)};
    EXPECT_OK(
        cu().launch_kernel(sum_shared, 1, 1, 1, 64, 1, 1, words * 4, nullptr, arguments, nullptr));
    EXPECT_OK(cu().ctx_synchronize());
    EXPECT_EQ(*out, words * (words + 1) / 2);
  }
};

// C2.27 C2.30 C2.52 C2.58: a context stores its cache preference
TEST_F(ContextPreferences, CachePreferencesAreKept) {
  create();
  EXPECT_EQ(cache(), CU_FUNC_CACHE_PREFER_NONE) << "the default must be no preference";
  for (CUfunc_cache const each : {CU_FUNC_CACHE_PREFER_SHARED, CU_FUNC_CACHE_PREFER_L1,
                                  CU_FUNC_CACHE_PREFER_EQUAL, CU_FUNC_CACHE_PREFER_NONE}) {
    EXPECT_OK(cu().ctx_set_cache_config(each));
    EXPECT_EQ(cache(), each);
  }
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu().ctx_set_cache_config(static_cast<CUfunc_cache>(4)));
  EXPECT_EQ(cache(), CU_FUNC_CACHE_PREFER_NONE);
  pop();
}

// C2.27 C4.19: a flotilla runtime sets the cache preference of each device's context
TEST_F(ContextPreferences, ARuntimeSetsEachDevicesOwn) {
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.cache = cache_preference::l1;
  runtime rt{options};
  EXPECT_EQ(rt.effective_settings(device_ordinal{0}).cache, cache_preference::l1);
  CUfunc_cache seen{};
  rt.submit([&](task_context&) { seen = cache(); }).wait();
  EXPECT_EQ(seen, CU_FUNC_CACHE_PREFER_L1);
}

// C2.28 C2.53 C4.59 C4.60: the cache preference is a hint. Whatever the preference, a kernel gets
// the shared memory that it needs
TEST_F(ContextPreferences, AKernelGetsTheSharedMemoryItNeedsWhateverIsPreferred) {
  create();
  CUfunction const sum_shared = function(load(), "sum_shared");
  for (CUfunc_cache const each : {CU_FUNC_CACHE_PREFER_L1, CU_FUNC_CACHE_PREFER_EQUAL,
                                  CU_FUNC_CACHE_PREFER_SHARED, CU_FUNC_CACHE_PREFER_NONE}) {
    EXPECT_OK(cu().ctx_set_cache_config(each));
    // 12'000 words are 48'000 bytes. If a GPU followed the preference for L1, it would have less
    // shared memory than this.
    expect_sums(sum_shared, 12'000);
    expect_sums(sum_shared, 10);
  }
  pop();
}

// C2.54 C4.61: the preference of a function does not change the preference of its context
TEST_F(ContextPreferences, AFunctionsOwnStandsBesideTheContexts) {
  create();
  CUfunction const sum_shared = function(load(), "sum_shared");
  EXPECT_OK(cu().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_L1));
  EXPECT_OK(cu().func_set_cache_config(sum_shared, CU_FUNC_CACHE_PREFER_SHARED));
  expect_sums(sum_shared, 12'000);
  EXPECT_EQ(cache(), CU_FUNC_CACHE_PREFER_L1);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().func_set_cache_config(sum_shared, static_cast<CUfunc_cache>(4)));
  pop();
}

// C2.55 C2.57: launches on one stream run in order and give correct results, even if the cache
// preference changes between launches
TEST_F(ContextPreferences, LaunchesOfDifferentPreferencesStayInOrder) {
  create();
  CUmodule const module = load();
  CUfunction const step = function(module, "times_plus");
  CUstream const lane = stream();
  std::uint32_t* const value = pinned(1);
  *value = 1;
  std::uint32_t expected = 1;
  for (int i = 0; i < 40; ++i) {
    EXPECT_OK(cu().func_set_cache_config(step, static_cast<CUfunc_cache>(i % 4)));
    EXPECT_OK(cu().ctx_set_cache_config(static_cast<CUfunc_cache>((i / 4) % 4)));
    EXPECT_OK(launch(step, lane, value, 3, i));
    expected = expected * 3 + static_cast<std::uint32_t>(i);
  }
  EXPECT_OK(cu().stream_synchronize(lane));
  EXPECT_EQ(*value, expected);
  pop();
}

// C4.62: each context has its own cache preference, and every thread reads the same value
TEST_F(ContextPreferences, BelongToTheContext) {
  CUcontext const one = floating(), other = floating();
  elsewhere([&] {
    pushed const here{one};
    EXPECT_OK(cu().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_EQUAL));
  });
  {
    pushed const here{other};
    EXPECT_EQ(cache(), CU_FUNC_CACHE_PREFER_NONE);
  }
  pushed const here{one};
  EXPECT_EQ(cache(), CU_FUNC_CACHE_PREFER_EQUAL);
}

// C2.37 C2.39 C2.40 C2.84 C2.87 C2.88: on current devices, banks of shared memory are always four
// bytes wide
TEST_F(ContextPreferences, BanksStayFourBytes) {
  if (cu().ctx_set_shared_mem_config == nullptr) {
    GTEST_SKIP() << "needs a driver with cuCtxSetSharedMemConfig";
  }
  create();
  CUsharedconfig now{};
  EXPECT_OK(cu().ctx_get_shared_mem_config(&now));
  EXPECT_EQ(now, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
  for (CUsharedconfig const each :
       {CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE,
        CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE}) {
    EXPECT_OK(cu().ctx_set_shared_mem_config(each)) << "the driver must accept and ignore it";
    EXPECT_OK(cu().ctx_get_shared_mem_config(&now));
    EXPECT_EQ(now, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
  }
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().ctx_set_shared_mem_config(static_cast<CUsharedconfig>(3)));
  pop();
}

// C2.86: setting the bank width changes neither a kernel's amount of shared memory nor the kernel's
// results
TEST_F(ContextPreferences, BankSizesChangeNoKernelsShareOfMemory) {
  if (cu().ctx_set_shared_mem_config == nullptr) {
    GTEST_SKIP() << "needs a driver with cuCtxSetSharedMemConfig";
  }
  create();
  CUfunction const sum_shared = function(load(), "sum_shared");
  std::optional<int> bytes, dynamic;
  for (CUsharedconfig const each :
       {CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE}) {
    EXPECT_OK(cu().ctx_set_shared_mem_config(each));
    int now = -1, most = -1;
    EXPECT_OK(cu().func_get_attribute(&now, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, sum_shared));
    EXPECT_OK(cu().func_get_attribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      sum_shared));
    EXPECT_EQ(bytes.value_or(now), now);
    EXPECT_EQ(dynamic.value_or(most), most);
    bytes = now;
    dynamic = most;
    expect_sums(sum_shared, 12'000);
  }
  pop();
}

}  // namespace
}  // namespace flotilla::test

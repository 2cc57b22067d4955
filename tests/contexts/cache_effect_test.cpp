// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What cache preferences do. A kernel follows pointers through a ring in device memory. The ring
// fits into the L1 cache if kernels prefer L1, and it does not fit if they prefer shared memory, so
// the time of one step shows how the memory is divided. A preference is a hint: the tests do not
// require that it has an effect. They print the times, and if a context's preference has an effect,
// they require the same effect for preferences of kernels and for launches of a runtime.
#include "contexts_test.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include <test_contexts_kernels.hpp>

namespace flotilla::test {
namespace {

constexpr unsigned ring_words = 96 * 1024 / 4;
constexpr unsigned line_words = 32;  // a step goes to another cache line of 128 bytes
constexpr unsigned lines = ring_words / line_words;
constexpr unsigned steps = 8 * lines;

/// Returns a ring that visits each cache line once.
std::vector<std::uint32_t> make_ring() {
  std::vector<std::uint32_t> ring(ring_words);
  constexpr unsigned stride = 17;  // coprime to the number of lines
  static_assert(lines % stride != 0);
  for (unsigned line = 0; line < lines; ++line) {
    ring[line * line_words] = (line + stride) % lines * line_words;
  }
  return ring;
}

/// What `chase` writes: the duration of all steps, and where the last step ended.
struct chased {
  std::uint64_t nanoseconds;
  std::uint64_t end;
};
constexpr std::uint64_t expected_end = 0;  // `steps` is a multiple of the length of the ring

double ns_per_step(chased const& of) {
  EXPECT_EQ(of.end, expected_end);
  return static_cast<double>(of.nanoseconds) / steps;
}

/// Whether the preferences make a difference: with a ring that does not fit into L1, each step goes
/// to the L2 cache, which takes several times as long.
bool differ(double with_l1, double with_shared) { return with_shared > 1.4 * with_l1; }

constexpr std::array all_preferences{CU_FUNC_CACHE_PREFER_NONE, CU_FUNC_CACHE_PREFER_L1,
                                     CU_FUNC_CACHE_PREFER_SHARED, CU_FUNC_CACHE_PREFER_EQUAL};
constexpr std::array names{"none", "shared", "l1", "equal"};  // in the order of CUfunc_cache

class CacheEffect : public contexts_test {
 protected:
  /// Runs `chase` once in the current context. @return the time of one step, in nanoseconds.
  double chase(CUfunction what) {
    CUdeviceptr const ring = allocate(ring_words * 4);
    CUdeviceptr const out = allocate(sizeof(chased));
    std::vector<std::uint32_t> const words = make_ring();
    EXPECT_OK(cu().memcpy_htod(ring, words.data(), ring_words * 4));
    std::vector<double> times;
    for (int i = 0; i < 5; ++i) {
      chased seen{};
      EXPECT_OK(launch(what, nullptr, ring, lines, steps, out));
      EXPECT_OK(cu().memcpy_dtoh(&seen, out, sizeof seen));
      times.push_back(ns_per_step(seen));
    }
    EXPECT_OK(cu().mem_free(ring));
    EXPECT_OK(cu().mem_free(out));
    return *std::min_element(times.begin(), times.end());
  }
  /// Runs `chase` in tasks of a runtime whose devices have the preference `how`.
  /// @param own  The preference of the kernel, if it has one.
  static double chase_in_tasks(cache_preference how, bool batch,
                               std::optional<cache_preference> own = {}) {
    runtime_options options{.devices = device_spec(1), .workers = 1};
    options.settings.all.cache = how;
    runtime rt{options};
    constexpr device_ordinal here{0};
    program const loaded = rt.load(test_contexts_kernels);
    if (own) { loaded.prefer_cache(here, "chase", *own); }
    auto const kernel =
        loaded.kernel<std::uint32_t const*, unsigned, unsigned, chased*>("chase").with_shape({1},
                                                                                             {1});
    std::vector<std::uint32_t> const words = make_ring();
    device_buffer<std::uint32_t> const ring{rt, here, std::span{words}};
    constexpr unsigned tasks = 16;
    device_buffer<chased> out{rt, here, tasks};
    std::vector<chased> seen(tasks);
    std::vector<double> times;
    // In the second round the runtime has its templates of graphs.
    for (int round = 0; round < 4; ++round) {
      for (unsigned i = 0; i < tasks; ++i) {
        (void)rt.submit(kernel(ring, lines, steps, out.subspan(i, 1)), {.batch = batch});
      }
      rt.wait_idle();
      rt.submit(out.copy_to(std::span{seen})).wait();
      for (chased const& each : seen) { times.push_back(ns_per_step(each)); }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 4];  // kernels of one batch may run on the same multiprocessor
  }
};

// C2.28 C2.53 C2.54 C2.55 C4.59 C4.61: the preference of a context, and the preference of a
// function, which takes precedence. After `none`, launches keep the configuration if they can. On a
// CPU device no preference has an effect
TEST_F(CacheEffect, OfContextsAndFunctions) {
  create();
  CUfunction const what = function(load(), "chase");
  std::map<CUfunc_cache, double> by_context, by_function;
  for (CUfunc_cache const each : all_preferences) {
    EXPECT_OK(cu().ctx_set_cache_config(each));
    by_context[each] = chase(what);
  }
  // none after l1, and none after shared
  double after[2] = {};
  for (CUfunc_cache const each : {CU_FUNC_CACHE_PREFER_L1, CU_FUNC_CACHE_PREFER_SHARED}) {
    EXPECT_OK(cu().ctx_set_cache_config(each));
    static_cast<void>(chase(what));
    EXPECT_OK(cu().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_NONE));
    after[each == CU_FUNC_CACHE_PREFER_L1 ? 0 : 1] = chase(what);
  }
  // The context prefers the opposite of what the function prefers.
  for (CUfunc_cache const each : {CU_FUNC_CACHE_PREFER_L1, CU_FUNC_CACHE_PREFER_SHARED}) {
    EXPECT_OK(cu().ctx_set_cache_config(
        each == CU_FUNC_CACHE_PREFER_L1 ? CU_FUNC_CACHE_PREFER_SHARED : CU_FUNC_CACHE_PREFER_L1));
    EXPECT_OK(cu().func_set_cache_config(what, each));
    by_function[each] = chase(what);
  }
  for (CUfunc_cache const each : all_preferences) {
    std::fprintf(stderr, "measured: context prefers %-6s: %6.1f ns a step\n", names[each],
                 by_context[each]);
  }
  std::fprintf(stderr, "measured: none after l1: %.1f ns, none after shared: %.1f ns\n", after[0],
               after[1]);
  std::fprintf(
      stderr, "measured: function prefers l1: %.1f ns, shared: %.1f ns; the context the opposite\n",
      by_function[CU_FUNC_CACHE_PREFER_L1], by_function[CU_FUNC_CACHE_PREFER_SHARED]);
  bool const context_has_effect =
      differ(by_context[CU_FUNC_CACHE_PREFER_L1], by_context[CU_FUNC_CACHE_PREFER_SHARED]);
  bool const function_has_effect =
      differ(by_function[CU_FUNC_CACHE_PREFER_L1], by_function[CU_FUNC_CACHE_PREFER_SHARED]);
  std::fprintf(stderr, "measured: the preference of a context %s, of a function %s\n",
               context_has_effect ? "has an effect" : "has no effect (hint)",
               function_has_effect ? "has an effect" : "has no effect (hint)");
  if (on_gpus()) {  // the times of a CPU device depend only on the load of the host
    if (context_has_effect) {
      EXPECT_TRUE(function_has_effect) << "the function's preference must take precedence";
    }
    // If the context's preference won, a function that prefers L1 would be slower than one that
    // prefers shared memory, because the context prefers the opposite here.
    EXPECT_FALSE(
        differ(by_function[CU_FUNC_CACHE_PREFER_SHARED], by_function[CU_FUNC_CACHE_PREFER_L1]))
        << "the context's preference has won";
  }
  pop();
}

// C2.53 C2.54 C4.59 C4.61: the same for launches of a runtime, alone and in batches: the setting
// `cache` of a device, and `program::prefer_cache`, which takes precedence
TEST_F(CacheEffect, OfLaunchesOfARuntime) {
  create();
  CUfunction const what = function(load(), "chase");
  EXPECT_OK(cu().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_L1));
  double const raw_l1 = chase(what);
  EXPECT_OK(cu().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_SHARED));
  double const raw_shared = chase(what);
  pop();
  bool const raw_has_effect = differ(raw_l1, raw_shared);
  std::fprintf(stderr, "measured: driver: l1 %.1f ns, shared %.1f ns a step\n", raw_l1, raw_shared);
  for (bool const batch : {false, true}) {
    double const l1 = chase_in_tasks(cache_preference::l1, batch);
    double const shared = chase_in_tasks(cache_preference::shared, batch);
    double const own_l1 = chase_in_tasks(cache_preference::shared, batch, cache_preference::l1);
    double const own_shared = chase_in_tasks(cache_preference::l1, batch, cache_preference::shared);
    std::fprintf(
        stderr,
        "measured: %s: l1 %.1f ns, shared %.1f ns; the kernel's own l1 %.1f ns, shared %.1f ns\n",
        batch ? "in batches" : "alone", l1, shared, own_l1, own_shared);
    if (on_gpus()) {
      EXPECT_FALSE(differ(own_shared, own_l1)) << "the context's preference has won";
      // Kernels in batches are nodes of a graph. Whether the driver follows the preferences of the
      // nodes' functions there is printed, and required only of launches outside graphs.
      if (raw_has_effect && !batch) {
        EXPECT_TRUE(differ(l1, shared));
        EXPECT_TRUE(differ(own_l1, own_shared));
      }
    }
  }
}

}  // namespace
}  // namespace flotilla::test

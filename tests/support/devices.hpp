#pragma once
// The devices that tests run on: CPU devices, or GPUs if the environment has
// FLOTILLA_TEST_DEVICES=cuda. The same programs test both.

#include <gtest/gtest.h>

#include <string>

namespace flotilla::test {

/// Whether the tests run on GPUs.
[[nodiscard]] bool on_gpus();

/// How many devices tests may use: the number of GPUs, or more CPU devices than any test needs.
[[nodiscard]] int devices_there();

/// The first `count` devices, as runtime_options::devices takes them: "cpu:4", "cuda:0,1".
[[nodiscard]] std::string device_spec(int count);

}  // namespace flotilla::test

/// Skips the test, and says so, if there are fewer than `count` devices.
#define FLOTILLA_NEED_DEVICES(count)                                 \
  do {                                                               \
    if (::flotilla::test::devices_there() < (count)) {               \
      GTEST_SKIP() << "needs " << (count) << " GPUs, and there are " \
                   << ::flotilla::test::devices_there();             \
    }                                                                \
  } while (false)

/// Skips the test, and says so, unless it runs on at least `count` GPUs.
#define FLOTILLA_NEED_GPUS(count)                                                         \
  do {                                                                                    \
    if (!::flotilla::test::on_gpus()) { GTEST_SKIP() << "needs " << (count) << " GPUs"; } \
    FLOTILLA_NEED_DEVICES(count);                                                         \
  } while (false)

/// Skips the test, and says so, on GPUs: it needs what only the CPU driver can do.
#define FLOTILLA_NEED_CPU_DRIVER()                                               \
  do {                                                                           \
    if (::flotilla::test::on_gpus()) { GTEST_SKIP() << "needs the CPU driver"; } \
  } while (false)

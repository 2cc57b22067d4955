#pragma once
// Which devices the tests run on: CPU devices, or what the environment's FLOTILLA_TEST_DEVICES
// says: "cpu" or "cuda". The same program then tests GPUs.

#include <gtest/gtest.h>

#include <string>

namespace flotilla::test {

/// Whether the tests run on GPUs.
[[nodiscard]] bool on_gpus();

/// How many devices can be had: as many CPU devices as wanted, or the GPUs there are.
[[nodiscard]] int devices_there();

/// The specification of `count` of them, as runtime_options::devices takes it: "cpu:4", "cuda:0,1".
[[nodiscard]] std::string device_spec(int count);

}  // namespace flotilla::test

/// Skips the test, loudly, where there are not as many devices.
#define FLOTILLA_NEED_DEVICES(count)                                 \
  do {                                                               \
    if (::flotilla::test::devices_there() < (count)) {               \
      GTEST_SKIP() << "needs " << (count) << " GPUs, and there are " \
                   << ::flotilla::test::devices_there();             \
    }                                                                \
  } while (false)

/// Skips the test, loudly, where it does not run on at least `count` GPUs.
#define FLOTILLA_NEED_GPUS(count)                                                         \
  do {                                                                                    \
    if (!::flotilla::test::on_gpus()) { GTEST_SKIP() << "needs " << (count) << " GPUs"; } \
    FLOTILLA_NEED_DEVICES(count);                                                         \
  } while (false)

/// Skips the test, loudly, on GPUs: it needs what only the CPU driver can do.
#define FLOTILLA_NEED_CPU_DRIVER()                                               \
  do {                                                                           \
    if (::flotilla::test::on_gpus()) { GTEST_SKIP() << "needs the CPU driver"; } \
  } while (false)

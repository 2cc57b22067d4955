// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices that tests run on. By default they are CPU devices. They are GPUs if the environment
// variable FLOTILLA_TEST_DEVICES is `cuda`.

#include <gtest/gtest.h>

#include <string>

namespace flotilla::test {

/// Whether the tests run on GPUs.
[[nodiscard]] bool on_gpus();

/// How many devices tests may use: the number of GPUs, or 64 CPU devices.
[[nodiscard]] int devices_there();

/// A value of `runtime_options::devices` that names the first `count` devices: "cpu:4", "cuda:0,1".
[[nodiscard]] std::string device_spec(int count);

}  // namespace flotilla::test

/// Skips the test and prints the reason if there are fewer than `count` devices.
#define FLOTILLA_NEED_DEVICES(count)                                    \
  do {                                                                  \
    if (::flotilla::test::devices_there() < (count)) {                  \
      GTEST_SKIP() << "needs " << (count) << " devices, but there are " \
                   << ::flotilla::test::devices_there();                \
    }                                                                   \
  } while (false)

/// Skips the test and prints the reason unless the tests run on at least `count` GPUs.
#define FLOTILLA_NEED_GPUS(count)                                                         \
  do {                                                                                    \
    if (!::flotilla::test::on_gpus()) { GTEST_SKIP() << "needs " << (count) << " GPUs"; } \
    FLOTILLA_NEED_DEVICES(count);                                                         \
  } while (false)

/// Skips the test on GPUs and prints the reason. For tests that only the CPU driver can run.
#define FLOTILLA_NEED_CPU_DRIVER()                                               \
  do {                                                                           \
    if (::flotilla::test::on_gpus()) { GTEST_SKIP() << "needs the CPU driver"; } \
  } while (false)

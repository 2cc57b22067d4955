// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program that is linked with this file runs its tests on GPUs, even if it is started without
// CTest.

#include <cstdlib>

namespace {
[[maybe_unused]] int const chosen = setenv("FLOTILLA_TEST_DEVICES", "cuda", 1);
}

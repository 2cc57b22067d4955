// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/kernels.hpp"

#include <flotilla_test_kernels.hpp>

namespace flotilla::test {

image const& test_image() { return flotilla_test_kernels; }

}  // namespace flotilla::test

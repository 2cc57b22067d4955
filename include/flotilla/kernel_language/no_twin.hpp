// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a kernel source forbids twins (docs/kernels.md).

/// Forbids a twin of `kernel`, so each launch of the kernel is a grid of its own. Write the macro
/// outside functions, in a source of the image that has the kernel:
///
///   FLOTILLA_NO_TWIN(histogram);
///
/// The image gets a variable of one byte, whose name is the `no_twin_prefix` of
/// flotilla/detail/kernel_twin.hpp and the name of the kernel.
#define FLOTILLA_NO_TWIN(kernel)                                                \
  extern "C" {                                                                  \
  __device__ __attribute__((used)) unsigned char flotilla_no_twin_##kernel = 1; \
  }                                                                             \
  static_assert(true, "a semicolon must follow")

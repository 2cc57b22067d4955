// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of test_kernels.cu with the types of their parameters.

#include <cstdint>

#include <flotilla/kernel/image.hpp>
#include <flotilla/kernel/kernel.hpp>
#include <flotilla/kernel/program.hpp>
#include <flotilla/runtime.hpp>

namespace flotilla::test {

/// The image of test_kernels.cu.
[[nodiscard]] image const& test_image();

// Kernel arguments of different sizes. `words_512` does not fit into a `launch` object and needs a
// separate block. `words_4088` plus an 8-byte pointer fill the usual block of 4096 bytes.
// `words_4092` plus a pointer need a larger block.
struct words_512 {
  std::uint32_t word[128];
};
struct words_4088 {
  std::uint32_t word[1022];
};
struct words_4092 {
  std::uint32_t word[1023];
};

/// The loaded test image and the kernels that most tests use.
struct test_program {
  explicit test_program(runtime& rt)
      : loaded{rt.load(test_image())},
        nothing{loaded.kernel<>("nothing")},
        write{loaded.kernel<std::uint32_t*, std::uint32_t>("write_value")},
        add{loaded.kernel<std::uint32_t*, std::uint32_t>("add_to")},
        copy{loaded.kernel<std::uint32_t*, std::uint32_t const*>("copy_value")},
        step{loaded.kernel<std::uint32_t*, std::uint32_t, std::uint32_t>("multiply_add")},
        hold{loaded.kernel<std::uint32_t*>("hold_until")} {}

  program loaded;
  kernel<> nothing;
  kernel<std::uint32_t*, std::uint32_t> write;                // *where = value
  kernel<std::uint32_t*, std::uint32_t> add;                  // *where += amount, atomically
  kernel<std::uint32_t*, std::uint32_t const*> copy;          // *to = *from
  kernel<std::uint32_t*, std::uint32_t, std::uint32_t> step;  // *where = *where * factor + summand
  kernel<std::uint32_t*> hold;  // sets words[0], then waits until words[1] is set
};

}  // namespace flotilla::test

#pragma once
// The kernels that tests launch, of test_kernels.cu, with their types.

#include <cstdint>

#include <flotilla/image.hpp>
#include <flotilla/kernel.hpp>
#include <flotilla/program.hpp>
#include <flotilla/runtime.hpp>

namespace flotilla::test {

/// The image of test_kernels.cu.
[[nodiscard]] image const& test_image();

/// Arguments of a size that never lies inside a launch, and of the largest size there may be (8
/// bytes are left for the pointer beside it).
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
  kernel<std::uint32_t*> hold;  // words[0] = 1, then until words[1] is set
};

}  // namespace flotilla::test

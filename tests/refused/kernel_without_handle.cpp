// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A kernel for which flotilla_add_kernels could not write a handle.
// expect: name the header that defines it with the option TYPES of flotilla_add_kernels

#include <flotilla/flotilla.hpp>

struct app_image : flotilla::image {
  static constexpr flotilla::kernel_handle<void(float*, int)> scale{"scale"};
  static constexpr flotilla::kernel_without_handle decode{"decode"};
};

void run(flotilla::program const& program, app_image const& app) {
  (void)program.kernel(app.scale);
#ifdef MISTAKE
  program.kernel(app.decode);
#endif
}

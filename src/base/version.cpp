// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/version.hpp>

namespace flotilla {
inline namespace v0_1 {

version_info version() noexcept {
  return {.major = FLOTILLA_VERSION_MAJOR,
          .minor = FLOTILLA_VERSION_MINOR,
          .patch = FLOTILLA_VERSION_PATCH,
          .text = FLOTILLA_VERSION};
}

}  // namespace v0_1
}  // namespace flotilla

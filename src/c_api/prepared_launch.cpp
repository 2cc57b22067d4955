// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/prepared_launch.hpp"

namespace flotilla::c_api {

void prepared_launch::make_for_thread(state& where) {
  static thread_local prepared_launch mine{where};
}

void prepared_launch::begin(flotilla_kernel kernel, held_kernel const& held,
                            flotilla_shape const& shape) {
  launch_ = begin_launch(held, shape);
  kernel_ = kernel.id;
  shape_ = shape;
}

}  // namespace flotilla::c_api

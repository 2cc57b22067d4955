// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/place_list.hpp"

#include <algorithm>
#include <new>

#include "c_api/handle_bits.hpp"

namespace flotilla::c_api {

void place_list::grow() {
  if (made_ == handle_bits::max_places) { throw std::bad_alloc(); }
  if (free_.capacity() <= made_) {
    free_.reserve(std::max<std::size_t>(1024, 2 * free_.capacity()));
  }
}

}  // namespace flotilla::c_api

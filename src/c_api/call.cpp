// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/call.hpp"

namespace flotilla::c_api {

void refuse_null(char const* name) {
  throw refused_call(FLOTILLA_INVALID_ARGUMENT, "'" + std::string{name} + "' is null");
}

void refuse_size(char const* type, std::size_t given, std::size_t needed) {
  throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                     "the size in a " + std::string{type} + " is " + std::to_string(given) +
                         ", but must be at least " + std::to_string(needed) +
                         "; initialise the struct with its macro");
}

}  // namespace flotilla::c_api

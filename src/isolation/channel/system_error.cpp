// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/channel/system_error.hpp"

#include <cerrno>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>

#include "base/system_error.hpp"

namespace flotilla::isolated {

void throw_refused(char const* call, std::string const& what) {
  int const why = errno;
  throw driver_error(driver_status::operating_system, call, what + ": " + base::refusal_text(why));
}

void throw_no_addresses(std::string const& what, std::size_t bytes) {
  throw_refused("mmap", std::to_string(bytes) + " bytes of addresses for " + what);
}

}  // namespace flotilla::isolated

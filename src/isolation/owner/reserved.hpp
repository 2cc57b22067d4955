// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays with an element for each possible object.

#include <sys/mman.h>

#include <cstddef>

#include "isolation/channel/system_error.hpp"

namespace flotilla::isolated {

/// Memory that is all zeros and of which only used pages cost anything. Never freed.
/// @throws driver_error  The system does not provide the addresses.
template <class Type>
[[nodiscard]] Type* reserve(std::size_t count) {
  std::size_t const bytes = count * sizeof(Type);
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) { throw_no_addresses("the objects of an isolated device", bytes); }
  return static_cast<Type*>(made);
}

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_access.hpp"

#include <cstdint>

// Weak, because only programs that are built with AddressSanitizer have these functions. They are
// its stable interface (sanitizer/asan_interface.h) and the functions that compilers call.
extern "C" {
[[gnu::weak]] void* __asan_region_is_poisoned(void* address, std::size_t bytes);
[[gnu::weak]] void __asan_report_load_n(std::uintptr_t address, std::size_t bytes);
[[gnu::weak]] void __asan_report_store_n(std::uintptr_t address, std::size_t bytes);
}

namespace flotilla::base {

bool has_address_sanitizer() noexcept { return &__asan_region_is_poisoned != nullptr; }

void check_host_access(void const* address, std::size_t bytes, bool writes) noexcept {
  if (!has_address_sanitizer() || bytes == 0 ||
      __asan_region_is_poisoned(const_cast<void*>(address), bytes) == nullptr) {
    return;
  }
  auto* const report = writes ? &__asan_report_store_n : &__asan_report_load_n;
  if (report != nullptr) { report(reinterpret_cast<std::uintptr_t>(address), bytes); }
}

}  // namespace flotilla::base

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/base/error_names.hpp"

#include <algorithm>
#include <string>

#include "cpu_driver/base/raw_enum.hpp"

namespace flotilla::cpu_driver {
namespace {

struct error {
  CUresult status;
  char const* name;
  char const* description;
};

constexpr error errors[] = {
#define FLOTILLA_DRIVER_ERROR(status, description) {status, #status, description},
#include "cpu_driver/base/errors.inc"
#undef FLOTILLA_DRIVER_ERROR
};

template <class Matches>
error const* find(Matches matches) noexcept {
  auto const* const found = std::find_if(std::begin(errors), std::end(errors), matches);
  return found != std::end(errors) ? found : nullptr;
}

}  // namespace

char const* error_name(CUresult status) noexcept {
  int const number = raw_enum(status);
  auto const* const found = find([&](error const& each) { return each.status == number; });
  return found != nullptr ? found->name : nullptr;
}

char const* error_description(CUresult status) noexcept {
  int const number = raw_enum(status);
  auto const* const found = find([&](error const& each) { return each.status == number; });
  return found != nullptr ? found->description : nullptr;
}

std::optional<CUresult> error_by_name(std::string_view name) noexcept {
  auto const* const found = find([&](error const& each) {
    return each.name == name || std::to_string(static_cast<int>(each.status)) == name;
  });
  return found != nullptr ? std::optional(found->status) : std::nullopt;
}

}  // namespace flotilla::cpu_driver

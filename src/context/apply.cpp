// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/apply.hpp"

#include "context/flags.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

std::string reason(CUresult answer, std::string_view name) {
  bool const limit = name.starts_with("limits.");
  if (answer == CUDA_ERROR_UNSUPPORTED_LIMIT) { return "this driver has no such limit"; }
  if (answer == CUDA_ERROR_INVALID_VALUE && name == "limits.malloc_heap") {
    return "the value is out of the driver's range, or an earlier kernel has used malloc and fixed "
           "the size";
  }
  if (answer == CUDA_ERROR_INVALID_VALUE && limit) {
    return "the value is out of the driver's range";
  }
  if (answer == CUDA_ERROR_OUT_OF_MEMORY) { return "the device does not have enough memory"; }
  if (answer == CUDA_ERROR_NOT_SUPPORTED) { return "this driver does not support the setting"; }
  if (answer == CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY) {
    return "the setting requires MPS and a GPU of generation Volta or later";
  }
  return "the driver refused the setting";
}

/// Returns the requested value as text, for example "1024 (1KiB)". The plain number is included
/// because the driver's documentation uses plain numbers.
std::string value_text(std::string_view name, device_settings const& asked) {
  for (limit_entry const& each : limit_table) {
    if (each.name != name || !(asked.*each.value)) { continue; }
    std::string const plain = std::to_string(*(asked.*each.value));
    std::string const text = asked.text(name);
    return plain == text ? plain : plain + " (" + text + ")";
  }
  return asked.text(name);
}

/// Whether `answer`, the status of a query, means that this driver does not support the setting.
bool has_none(CUresult answer) noexcept {
  return answer == CUDA_ERROR_UNSUPPORTED_LIMIT || answer == CUDA_ERROR_NOT_SUPPORTED ||
         answer == CUDA_ERROR_INVALID_VALUE;
}

char const* adjustment(std::string_view name) {
  if (name == "limits.stack") { return "the driver rounds up to a multiple of 16 bytes"; }
  if (name == "limits.persisting_l2") {
    return "the driver rounds up to a multiple of the smallest part of the cache that can be set "
           "aside";
  }
  if (name == "context") { return "the driver assigns multiprocessors in whole groups"; }
  return "the driver rounded or clamped the value";
}

char const* without_effect(std::string_view name, device_settings const& asked,
                           device_settings const& effective) {
  if (name == "map_host") { return "current drivers always map host memory"; }
  if (name == "lmem_resize_to_max") {
    return "current drivers always keep local memory at its largest size";
  }
  if (name == "bank_size" && asked.bank_size == bank_size::eight &&
      effective.bank_size == bank_size::four) {
    return "the banks of this device are always four bytes wide";
  }
  return nullptr;
}

}  // namespace

void rejection_policy::check(CUresult answer, char const* call, std::string_view name,
                             device_settings const& asked, rejected_settings& into) const {
  if (answer == CUDA_SUCCESS) { return; }
  std::string const why = reason(answer, name);
  // A sticky error is thrown even with best effort, because such an error makes the whole context
  // unusable.
  if (best_effort_ && !is_sticky(driver::status_of(answer))) {
    into.emplace(name, why + " (" + to_string(driver::status_of(answer)) + ")");
    return;
  }
  throw driver_error(driver::status_of(answer), call,
                     subject_ + " for setting " + std::string{name} + " = " +
                         value_text(name, asked) + ", because " + why);
}

void apply(driver::table const& api, device_settings const& asked, rejection_policy const& policy,
           rejected_settings& into) {
  unsigned flags = 0;
  driver::check(api.ctx_get_flags(&flags), "cuCtxGetFlags", policy.subject());
  if (flags_of(asked, flags) != flags) {
    CUresult const answer = api.ctx_set_flags == nullptr
                                ? CUDA_ERROR_NOT_SUPPORTED
                                : api.ctx_set_flags(flags_of(asked, flags));
    device_settings now;
    read_flags(flags, now);
    for (std::string_view const name : flag_names) {
      if (!asked.text(name).empty() && asked.text(name) != now.text(name)) {
        policy.check(answer, "cuCtxSetFlags", name, asked, into);
      }
    }
  }
  for (limit_entry const& each : limit_table) {
    if (auto const& wanted = asked.*each.value) {
      policy.check(api.ctx_set_limit(each.which, *wanted), "cuCtxSetLimit", each.name, asked, into);
    }
  }
  if (asked.cache) {
    policy.check(api.ctx_set_cache_config(static_cast<CUfunc_cache>(*asked.cache)),
                 "cuCtxSetCacheConfig", "cache", asked, into);
  }
  if (asked.bank_size) {
    if (api.ctx_set_shared_mem_config == nullptr) {
      policy.missing("cuCtxSetSharedMemConfig", "bank_size", asked, into);
    } else {
      policy.check(api.ctx_set_shared_mem_config(static_cast<CUsharedconfig>(*asked.bank_size)),
                   "cuCtxSetSharedMemConfig", "bank_size", asked, into);
    }
  }
}

device_settings read_back(driver::table const& api, std::string const& subject) {
  using driver::check;
  device_settings made;
  unsigned flags = 0;
  check(api.ctx_get_flags(&flags), "cuCtxGetFlags", subject);
  read_flags(flags, made);
  CUfunc_cache cache{};
  check(api.ctx_get_cache_config(&cache), "cuCtxGetCacheConfig", subject);
  made.cache = static_cast<cache_preference>(cache);
  for (limit_entry const& each : limit_table) {
    std::size_t value = 0;
    CUresult const answer = api.ctx_get_limit(&value, each.which);
    if (has_none(answer)) { continue; }
    check(answer, "cuCtxGetLimit",
          [&] { return subject + " for setting " + std::string{each.name}; });
    made.*each.value = value;
  }
  if (api.ctx_get_shared_mem_config != nullptr) {
    CUsharedconfig bank{};
    if (CUresult const answer = api.ctx_get_shared_mem_config(&bank); !has_none(answer)) {
      check(answer, "cuCtxGetSharedMemConfig", subject);
      made.bank_size = static_cast<bank_size>(bank);
    }
  }
  return made;
}

void restore(driver::table const& api, device_settings const& asked,
             device_settings const& before) noexcept {
  // Restores only the flags in `asked`, because the context's owner may have changed other flags
  // meanwhile.
  device_settings back;
  auto const keep = [&](auto member) {
    if (asked.*member) { back.*member = before.*member; }
  };
  keep(&device_settings::schedule);
  for (auto const member : {&device_settings::map_host, &device_settings::lmem_resize_to_max,
                            &device_settings::coredump, &device_settings::user_coredump,
                            &device_settings::sync_memops}) {
    keep(member);
  }
  unsigned flags = 0;
  if (api.ctx_set_flags != nullptr && api.ctx_get_flags(&flags) == CUDA_SUCCESS &&
      flags_of(back, flags) != flags) {
    static_cast<void>(api.ctx_set_flags(flags_of(back, flags)));
  }
  for (limit_entry const& each : limit_table) {
    auto const& old = before.*each.value;
    if (asked.*each.value && old) { static_cast<void>(api.ctx_set_limit(each.which, *old)); }
  }
  if (asked.cache && before.cache) {
    static_cast<void>(api.ctx_set_cache_config(static_cast<CUfunc_cache>(*before.cache)));
  }
  if (asked.bank_size && before.bank_size && api.ctx_set_shared_mem_config != nullptr) {
    static_cast<void>(
        api.ctx_set_shared_mem_config(static_cast<CUsharedconfig>(*before.bank_size)));
  }
}

settings_report report(device const& where, device_settings const& asked,
                       device_settings const& effective, rejected_settings const& refused) {
  using kinds = setting_outcome::kinds;
  settings_report made{where, {}};
  for (std::string_view const name : device_settings::names()) {
    setting_outcome each{
        std::string{name}, asked.text(name), effective.text(name), kinds::granted, {}};
    auto const no = refused.find(name);
    if (no != refused.end()) { each.note = no->second; }
    if (each.requested.empty()) {
      each.kind = kinds::by_default;
    } else if (no != refused.end()) {
      each.kind = kinds::refused;
    } else if (char const* const why = without_effect(name, asked, effective)) {
      each.kind = kinds::no_effect;
      each.note = why;
    } else if (each.requested != each.granted &&
               !(name == "bank_size" && asked.bank_size == bank_size::standard)) {
      each.kind = kinds::adjusted;
      each.note = adjustment(name);
    }
    made.outcomes.push_back(std::move(each));
  }
  return made;
}

}  // namespace flotilla::context

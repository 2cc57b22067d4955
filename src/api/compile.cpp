// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/kernel/compile.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "api/state_of.hpp"
#include "base/access.hpp"
#include "compiler/cached_compilation.hpp"
#include "compiler/checked_options.hpp"
#include "driver/check.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

compiler::gpu_target target_of(dispatch::runtime_state const& state) {
  driver::table const& api = *state.api();
  compiler::gpu_target target{std::numeric_limits<int>::max(), true};
  for (device const& each : state.infos()) {
    auto const ask = [&](CUdevice_attribute which) {
      int value = 0;
      driver::check(api.device_get_attribute(&value, which, each.driver_ordinal),
                    "cuDeviceGetAttribute", "device " + std::to_string(each.ordinal.value));
      return value;
    };
    int const architecture = 10 * ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                             ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    bool const is_first = target.architecture == std::numeric_limits<int>::max();
    target.is_uniform = is_first || (target.is_uniform && architecture == target.architecture);
    target.architecture = std::min(target.architecture, architecture);
  }
  return target;
}

}  // namespace

program compile(runtime& rt, std::string_view source, compile_options const& options) {
  detail::runtime_impl& impl = detail::access::impl(rt);
  dispatch::runtime_state& state = state_of(&impl);
  state.usage.check_usable();
  compile_options const checked = compiler::checked_options(options);
  compiler::compiled_code const code =
      state.api()->kind == device_kind::gpu
          ? compiler::compile_for_gpus(source, checked, target_of(state))
          : compiler::compile_for_cpus(source, checked);
  dispatch::kernel_aliases aliases;
  for (compiler::kernel_alias const& each : code.aliases) {
    aliases[each.symbol].push_back(each.expression);
  }
  // Drivers copy the code, so it may end with this function.
  std::uint32_t const made =
      state.programs.load("source '" + checked.name + "'", code.bytes.data(), "");
  state.programs.rename(made, aliases);
  return detail::access::make_program(impl, made);
}

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/kernel/program.hpp>

#include <flotilla/error/error.hpp>

#include "api/state_of.hpp"
#include "base/access.hpp"

namespace flotilla {
inline namespace v0_1 {

detail::kernel_ref program::find_kernel(std::string_view name,
                                        std::span<detail::parameter_layout const> layout) const {
  dispatch::runtime_state& state = state_of(owner_);
  return dispatch::ref_of(state, state.programs.find_kernel(index_, name, layout));
}

untyped_kernel program::kernel(std::string_view name) const {
  dispatch::runtime_state& state = state_of(owner_);
  std::uint32_t const index = state.programs.find_kernel(index_, name);
  dispatch::kernel_entry const& found = state.programs.kernel(index);
  return {dispatch::ref_of(state, index), {found.name, found.parameters, found.infos}};
}

std::vector<std::string> program::kernel_names() const {
  return state_of(owner_).programs.kernel_names(index_);
}

void program::prefer_cache(device_ordinal device, std::string_view kernel,
                           cache_preference preference) const {
  dispatch::runtime_state& state = state_of(owner_);
  state.programs.prefer_cache(index_, state.valid.checked(device), kernel, preference);
}

void program::write_global(device_ordinal device, std::string_view name,
                           std::span<std::byte const> bytes) const {
  dispatch::runtime_state& state = state_of(owner_);
  // The cast is safe: with the last argument true, copy_global only reads these bytes.
  std::span<std::byte> const source{const_cast<std::byte*>(bytes.data()), bytes.size()};
  state.programs.copy_global(index_, state.valid.checked(device), name, source, true);
}

void program::read_global(device_ordinal device, std::string_view name,
                          std::span<std::byte> bytes) const {
  dispatch::runtime_state& state = state_of(owner_);
  state.programs.copy_global(index_, state.valid.checked(device), name, bytes, false);
}

namespace detail {

void refuse_thread_count(long long threads) {
  throw invalid_argument("over(): the number of threads must be at least 1, but is " +
                         std::to_string(threads));
}

namespace {

[[noreturn]] void refuse(parameter_place const& to, std::string const& value) {
  throw invalid_argument(state_of(to.owner).programs.describe_kernel(to.kernel) + ", argument " +
                         std::to_string(to.index) + ": the value " + value +
                         " does not fit into the parameter, which has " +
                         std::to_string(8 * to.bytes) +
                         " bits; declare a wider parameter, or convert the argument to its type");
}

}  // namespace

void refuse_integer(parameter_place const& to, long long value) {
  refuse(to, std::to_string(value));
}
void refuse_integer(parameter_place const& to, unsigned long long value) {
  refuse(to, std::to_string(value));
}

void refuse_argument(launch const& to, std::size_t index) {
  throw wrong_runtime(
      state_of(access::impl(to)).programs.describe_kernel(access::kernel_index(to)) +
      ", argument " + std::to_string(index) +
      ": the buffer does not belong to the runtime of the kernel, or has no memory");
}

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla

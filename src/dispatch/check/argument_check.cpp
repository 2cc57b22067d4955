// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/argument_check.hpp"

#include <algorithm>
#include <cstring>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/check/text.hpp"

namespace flotilla::dispatch {

void argument_check::check(launch const& what, std::string_view label,
                           std::optional<unsigned> device) const {
  auto const* const bytes = static_cast<std::byte const*>(what.arguments());
  std::span<detail::parameter_info const> const parameters = detail::access::parameters(what);
  std::span<detail::argument_range const> const ranges = detail::access::ranges(what);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // If the types of the parameters are not known, only spans are known to be addresses.
    bool const is_address = parameters[i].is_pointer ||
                            std::any_of(ranges.begin(), ranges.end(),
                                        [i](auto const& each) { return each.argument == i; });
    if (!is_address) { continue; }
    std::uintptr_t address = 0;
    std::memcpy(&address, bytes + parameters[i].offset, sizeof address);
    if (address == 0) { continue; }  // kernels may have optional arguments
    std::string const why = refusal(address, device);
    if (why.empty()) { continue; }
    std::string const& kernel = parts_.kernels.kernels[detail::access::kernel_index(what)].name;
    std::string const type{parameters[i].type};
    throw invalid_argument(check_text::of_kernel(kernel, label) + ": argument " +
                           std::to_string(i) + (type.empty() ? "" : " (" + type + ")") + " is " +
                           check_text::of_address(address) + ", " + why);
  }
}

std::string argument_check::freed(std::uintptr_t address, std::size_t bytes, bool is_buffer) const {
  using places = memory_facts::places;
  auto const buffer_exists = [&] {
    memory_facts const facts = query_.ask(address);
    return facts.place == places::no_answer ||
           (facts.place != places::unknown && !destroyed_.holds(facts.id));
  };
  bool const exists =
      is_buffer ? buffer_exists()
                : memory_query::is_mapped(address) && memory_query::is_mapped(address + bytes - 1);
  if (exists) { return {}; }
  return "at " + check_text::of_address(address) + ", which " +
         (is_buffer ? "was in a buffer that was destroyed" : "was freed");
}

void argument_check::destroyed(std::uintptr_t address) {
  if (std::uint64_t const id = query_.ask(address).id; id != 0) { destroyed_.add(id); }
}

std::string argument_check::text_of(unsigned device) const {
  return "device " + std::to_string(device) + " (" + parts_.infos[device].name + ")";
}

std::string argument_check::refusal(std::uintptr_t address, std::optional<unsigned> device) const {
  using places = memory_facts::places;
  memory_facts const facts = query_.ask(address);
  if (facts.place == places::no_answer) { return {}; }
  if (facts.place == places::unknown) { return refusal_of_unknown(address, device); }
  if (destroyed_.holds(facts.id)) {
    return "which is in the memory of a buffer that was destroyed; submit the task before the "
           "buffer is destroyed";
  }
  return facts.place == places::device ? refusal_of_device(address, facts.device, device)
                                       : std::string{};
}

std::string argument_check::refusal_of_unknown(std::uintptr_t address,
                                               std::optional<unsigned> device) const {
  if (!memory_query::is_mapped(address)) {
    return "but no memory has this address: the memory was freed, or the address was never valid";
  }
  bool const on_cpu = parts_.api.kind == device_kind::cpu;
  auto const reaches_host = [&](unsigned index) {
    int answer = 0;
    CUdevice handle{};
    return parts_.api.device_get(&handle, parts_.infos[index].driver_ordinal) == CUDA_SUCCESS &&
           parts_.api.device_get_attribute(&answer, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                           handle) == CUDA_SUCCESS &&
           answer != 0;
  };
  // Some GPUs can access all memory of the host. CPU devices can too, but the check reports what
  // would fail on most GPUs.
  if (!on_cpu) {
    bool all = true;
    for (unsigned i = 0; i < parts_.infos.size(); ++i) {
      all = all && ((device && *device != i) || reaches_host(i));
    }
    if (all) { return {}; }
  }
  return std::string{"which is pageable memory of the host"} +
         (on_cpu ? ", or device memory that was freed" : "") + "; " +
         (device ? text_of(*device) : "a device") +
         " can access only device memory and pinned memory: pass a device_buffer, or the data() of "
         "a host_buffer";
}

std::string argument_check::refusal_of_device(std::uintptr_t address, int owner,
                                              std::optional<unsigned> device) const {
  auto const is_owner = [owner](flotilla::device const& info) {
    return info.driver_ordinal == owner;
  };
  auto const first = std::find_if(parts_.infos.begin(), parts_.infos.end(), is_owner);
  bool const is_ours = first != parts_.infos.end();
  std::string const home = is_ours ? text_of(first->ordinal.value)
                                   : "device " + std::to_string(owner) +
                                         " of the driver, which is no device of this runtime";
  std::string const where = "which is in the memory of " + home + ", but ";
  if (!device) {
    if (std::all_of(parts_.infos.begin(), parts_.infos.end(), is_owner)) { return {}; }
    return where + "any device may take the task; " +
           (is_ours ? "set task_options::device to " + std::to_string(first->ordinal.value) +
                          ", or pass the device_buffer instead of its address"
                    : "copy the data to a device of this runtime");
  }
  if (is_owner(parts_.infos[*device]) || query_.is_accessible(address, *parts_.handles[*device])) {
    return {};
  }
  return where + "the task runs on " + text_of(*device) + "; " +
         (is_ours ? "submit the task for " + home + ", " : "") + "copy the data to " +
         text_of(*device) + ", or give " + text_of(*device) +
         " access to the memory (context_ref::enable_peer)";
}

}  // namespace flotilla::dispatch

// What is to be submitted makes sense, or is refused by name, before anything is taken.
#include <flotilla/error.hpp>

#include "dispatch/core.hpp"

namespace flotilla::dispatch {

namespace {

std::string words(extent const& of) {
  return std::to_string(of.x) + " x " + std::to_string(of.y) + " x " + std::to_string(of.z);
}

// Apart from what asks: see core::refuse_use.
[[gnu::noinline]] void check_extents(std::string const& kernel, launch const& asked) {
  auto const empty = [](extent const& each) { return each.x == 0 || each.y == 0 || each.z == 0; };
  if (empty(asked.grid()) || empty(asked.block())) {
    throw invalid_argument("kernel '" + kernel + "': a grid of " + words(asked.grid()) + " blocks of " +
                           words(asked.block()) + " threads is empty");
  }
  extent const block = asked.block();
  if (block.x > 0xffff || block.y > 0xffff || block.z > 0xffff) {
    throw invalid_argument("kernel '" + kernel + "': no device has blocks of " + words(block) + " threads");
  }
}
[[noreturn, gnu::noinline]] void refuse_arguments(kernel_entry const& kernel, launch const& asked) {
  throw invalid_argument("kernel '" + kernel.name + "' takes " + std::to_string(kernel.argument_bytes) +
                         " bytes of arguments, not " + std::to_string(asked.argument_bytes()));
}
[[noreturn, gnu::noinline]] void refuse_device(std::string const& kernel, launch const& asked, device_ordinal device) {
  throw invalid_argument("kernel '" + kernel + "': a buffer of device " + std::to_string(asked.device()->value) +
                         " cannot be used on device " + std::to_string(device.value));
}

}  // namespace

void core::check_task(launch const& asked, std::optional<device_ordinal> device) const {
  if (asked.owner() != this) { throw wrong_runtime("the launch was made by a kernel of another runtime"); }
  kernel_entry const& kernel = table.kernels[asked.kernel_index()];
  // A zero, less one, is the greatest number there is: one question for three. What it finds may still be right.
  auto const together = [](extent of) { return (of.x - 1) | (of.y - 1) | (of.z - 1); };
  if (together(asked.grid()) > 0x7fff'ffff || together(asked.block()) >= 0xffff) { check_extents(kernel.name, asked); }
  if (asked.argument_bytes() > launch::most_bytes || asked.argument_bytes() != kernel.argument_bytes) {
    refuse_arguments(kernel, asked);
  }
  if (device) { static_cast<void>(checked(*device)); }
  if (device && asked.device() && *device != *asked.device()) { refuse_device(kernel.name, asked, *device); }
}

void core::check_task(transfer const& asked, std::optional<device_ordinal> device) const {
  if (asked.owner == nullptr) { throw invalid_argument("the copy or fill is of an empty buffer"); }
  if (asked.owner != this) { throw wrong_runtime("the copy or fill is of a buffer of another runtime"); }
  if (device && *device != asked.device) {
    throw invalid_argument("a copy or fill of a buffer of device " + std::to_string(asked.device.value) +
                           " cannot run on device " + std::to_string(device->value));
  }
}

void core::check_task(work const& asked, std::optional<device_ordinal> device, std::string_view label) const {
  if (!asked) {
    throw invalid_argument("the callable is null" + (label.empty() ? "" : ": label '" + std::string{label} + "'"));
  }
  if (device) { static_cast<void>(checked(*device)); }
}

void core::check_after(dependency_list const& after, std::size_t most) const {
  for (std::size_t i = 0; i < after.size(); ++i) {
    task_id const ahead = after[i];
    if (ahead.runtime == nullptr) { throw invalid_argument("a ticket in `after` names no task"); }
    if (ahead.runtime != this) { throw wrong_runtime("a ticket in `after` is of another runtime"); }
  }
  if (after.size() > most) {
    throw invalid_argument(std::to_string(after.size()) + " tickets in `after`: " + std::to_string(most) + " at most");
  }
}

}  // namespace flotilla::dispatch

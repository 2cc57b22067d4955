#include <flotilla/program.hpp>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "driver/check.hpp"

namespace flotilla {

std::uint32_t program::find_kernel(std::string_view name, std::span<detail::parameter_layout const> layout) const {
  return owner_->find_kernel(index_, name, layout);
}

std::vector<std::string> program::kernel_names() const {
  std::vector<std::string> names;
  for (auto const& [name, index] : owner_->table.programs[index_].kernels) { names.push_back(name); }
  return names;
}

void program::prefer_cache(device_ordinal device, std::string_view kernel, cache_preference preference) const {
  unsigned const where = owner_->checked(device);
  owner_->check_usable();
  dispatch::program_entry const& in = owner_->table.programs[index_];
  auto const found = in.kernels.find(kernel);
  if (found == in.kernels.end()) {
    throw unknown_kernel("there is no kernel '" + std::string{kernel} + "' in " + in.name);
  }
  CUkernel const handle = owner_->table.kernels[found->second].handle;
  owner_->control(where, [&](dispatch::device_queue& queue) {
    auto const subject = [&] {
      return "kernel '" + std::string{kernel} + "', cache = " + to_string(preference) + ", " + queue.context.subject();
    };
    // The function is the kernel as this context has it: the preference is this context's alone.
    CUfunction function = nullptr;
    driver::check(queue.context.api().kernel_get_function(&function, handle), "cuKernelGetFunction", subject);
    driver::check(queue.context.api().func_set_cache_config(function, static_cast<CUfunc_cache>(preference)),
                  "cuFuncSetCacheConfig", subject);
  });
}

void program::write_global(device_ordinal device, std::string_view name, std::span<std::byte const> bytes) const {
  // copy_global reads these bytes only
  std::span<std::byte> const same{const_cast<std::byte*>(bytes.data()), bytes.size()};
  owner_->copy_global(index_, owner_->checked(device), name, same, true);
}

void program::read_global(device_ordinal device, std::string_view name, std::span<std::byte> bytes) const {
  owner_->copy_global(index_, owner_->checked(device), name, bytes, false);
}

namespace detail {

void refuse_argument(launch const& to, std::size_t index, device_ordinal device, bool of_other_runtime) {
  std::string const kernel = "kernel '" + to.owner()->table.kernels[to.kernel_index()].name + "', argument " +
                             std::to_string(index) + ": the buffer ";
  if (of_other_runtime) { throw wrong_runtime(kernel + "belongs to another runtime, or is empty"); }
  throw invalid_argument(kernel + "lies on device " + std::to_string(device.value) + ", an earlier one on device " +
                         std::to_string(to.device()->value));
}

}  // namespace detail

}  // namespace flotilla

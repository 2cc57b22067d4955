// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/kernel/untyped_kernel.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/kernel/kernel.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace {

std::string count_of_parameters(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " parameter" : " parameters");
}

}  // namespace

untyped_launch::untyped_launch(detail::kernel_ref const& kernel,
                               detail::untyped_signature const& signature,
                               launch_shape const& shape) noexcept
    : signature_{signature}, made_{detail::launch_builder::make(kernel, shape, signature.infos)} {}

void untyped_launch::check_next(std::size_t bytes) const {
  auto const subject = [&] {
    return "kernel '" + std::string{signature_.name} + "', argument " + std::to_string(size_) +
           ": ";
  };
  if (size_ >= signature_.parameters.size()) {
    throw invalid_argument(subject() + "the kernel has only " +
                           count_of_parameters(signature_.parameters.size()) +
                           ", but got another argument, of " + std::to_string(bytes) + " bytes");
  }
  std::size_t const expected = signature_.parameters[size_].bytes;
  if (bytes != expected) {
    throw invalid_argument(subject() + "it has " + std::to_string(bytes) +
                           " bytes, but the parameter has " + std::to_string(expected) + " bytes");
  }
}

untyped_launch& untyped_launch::append_range(detail::device_range const& range, bool is_read_only) {
  std::uintptr_t const address = range.address();
  check_next(sizeof address);
  detail::launch_builder::append_range(made_, size_, range, is_read_only);
  return append(&address, sizeof address);
}

void untyped_launch::refuse_incomplete() const {
  throw invalid_argument("kernel '" + std::string{signature_.name} + "' has " +
                         count_of_parameters(signature_.parameters.size()) + ", but got only " +
                         std::to_string(size_) + (size_ == 1 ? " argument" : " arguments"));
}

launch untyped_launch::finish() const& { return complete(); }

launch untyped_launch::finish() && {
  static_cast<void>(complete());
  return std::move(made_);
}

}  // namespace v0_1
}  // namespace flotilla

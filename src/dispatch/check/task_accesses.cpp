// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/task_accesses.hpp"

#include <cstring>

#include "base/access.hpp"

namespace flotilla::dispatch {

void task_accesses::add(std::vector<memory_access>& to, memory_access access,
                        std::size_t bytes) const {
  if (access.begin == 0 || bytes == 0) { return; }
  access.memory = query_.ask(access.begin).id;
  if (access.memory == 0) { return; }
  access.end = access.begin + bytes;
  to.push_back(access);
}

std::vector<memory_access> task_accesses::of(launch const& what) const {
  std::vector<memory_access> made;
  auto const* const bytes = static_cast<std::byte const*>(what.arguments());
  std::span<detail::parameter_info const> const parameters = detail::access::parameters(what);
  std::span<detail::argument_range const> ranges = detail::access::ranges(what);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    detail::parameter_info const& one = parameters[i];
    bool const has_range = !ranges.empty() && ranges.front().argument == i;
    std::size_t const size = has_range ? ranges.front().bytes : one.pointee_bytes;
    // If the type of the parameter is not known, the span says whether the kernel may write.
    bool const is_read_only =
        one.is_pointer || !has_range ? one.is_read_only : ranges.front().is_read_only;
    if (has_range) { ranges = ranges.subspan(1); }
    if (!one.is_pointer && !has_range) { continue; }
    memory_access access{
        .reads = true, .writes = !is_read_only, .argument = static_cast<unsigned>(i)};
    std::memcpy(&access.begin, bytes + one.offset, sizeof access.begin);
    add(made, access, size);
  }
  return made;
}

std::vector<memory_access> task_accesses::of(detail::memory_command const& what) const {
  std::vector<memory_access> made;
  if (!what.is_pitched) {
    if (what.kind != memory_op_kind::fill) {
      add(made, {.begin = what.from, .reads = true}, what.bytes);
    }
    add(made, {.begin = what.to, .writes = true}, what.bytes);
    return made;
  }
  // Other tasks may use the memory between the rows.
  detail::copy_box const box = what.box();
  for (std::size_t i = 0; i < box.depth * box.height; ++i) {
    std::size_t const plane = i / box.height;
    std::size_t const row = i % box.height;
    add(made, {.begin = what.from + plane * box.from.plane + row * box.from.row, .reads = true},
        box.width);
    add(made, {.begin = what.to + plane * box.to.plane + row * box.to.row, .writes = true},
        box.width);
  }
  return made;
}

}  // namespace flotilla::dispatch

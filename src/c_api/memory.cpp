// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/memory.h>

#include <cstddef>
#include <utility>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

/// Adds a buffer that `allocate` makes.
template <class Allocate>
void add_buffer(flotilla_runtime handle, flotilla_buffer* made, Allocate const& allocate) {
  required(made, "made").id = 0;
  held_runtime& owner = object(handle);
  made->id = buffer_table::get().add(held_buffer{owner, allocate(owner.rt)});
  owner.buffers.fetch_add(1);
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_device_alloc(flotilla_runtime rt, unsigned device, size_t bytes,
                                      flotilla_buffer* made) {
  return guarded("flotilla_device_alloc", [&] {
    add_buffer(rt, made, [&](flotilla::runtime& with) {
      return device_bytes{with, flotilla::device_ordinal{device}, bytes};
    });
  });
}

flotilla_status flotilla_host_alloc(flotilla_runtime rt, size_t bytes, flotilla_buffer* made) {
  return guarded("flotilla_host_alloc", [&] {
    add_buffer(rt, made, [&](flotilla::runtime& with) { return host_bytes{with, bytes}; });
  });
}

flotilla_status flotilla_buffer_free(flotilla_buffer buffer) {
  return guarded("flotilla_buffer_free", [&] {
    end_object(buffer_table::get(), buffer.id, kinds::buffer, &held_runtime::buffers);
  });
}

flotilla_status flotilla_buffer_address(flotilla_buffer buffer, void** address) {
  return guarded("flotilla_buffer_address", [&] {
    required(address, "address") =
        std::visit([](auto& each) -> void* { return each.data(); }, object(buffer).memory);
  });
}

flotilla_status flotilla_buffer_bytes(flotilla_buffer buffer, size_t* bytes) {
  return guarded("flotilla_buffer_bytes", [&] {
    required(bytes, "bytes") =
        std::visit([](auto const& each) { return each.size(); }, object(buffer).memory);
  });
}

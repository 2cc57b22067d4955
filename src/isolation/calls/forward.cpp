// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/calls/forward.hpp"

#include <cstring>

namespace flotilla::isolated {

namespace {

/// The object with which a new object ends.
std::uint32_t parent_of(object_kind kind, session const& call) {
  std::vector<std::uint32_t> const uses = call.uses();
  std::uint32_t const first = uses.empty() ? 0 : uses.front();
  switch (kind) {
    case object_kind::stream:
    case object_kind::event:
    case object_kind::module: return call.context();
    // A function of a module, or of a kernel, which belongs to all devices.
    case object_kind::function: return first < first_shared_object ? first : call.context();
    case object_kind::graph_node:
    case object_kind::kernel: return first;
    default: return 0;
  }
}

}  // namespace

handle_bits remember(isolated_device& on, object_kind kind, std::uint32_t index,
                     session const& call) {
  record made = call.recorded();
  if (!is_shared_kind(kind)) {
    return on.objects().add(index, kind, parent_of(kind, call), std::move(made));
  }
  // Another device makes the object without a context, because it has others.
  request_head head{};
  std::memcpy(&head, made.request.data(), sizeof head);
  head.context = 0;
  std::memcpy(made.request.data(), &head, sizeof head);
  on.shared_here().insert(index);
  std::lock_guard const lock{owner::get().shared_mutex()};
  return owner::get().shared().add(index, kind, parent_of(kind, call), std::move(made));
}

void free_image(void* image) noexcept { owner::get().host().free(image); }

void forget(isolated_device& on, std::uint32_t index) noexcept {
  if (index == 0 || index >= max_objects) { return; }
  on.parameters().erase(on.objects().handle_of(index).value);
  on.objects().close(index, &free_image);
}

void forget_new(isolated_device& on, object_kind kind, std::uint32_t index) noexcept {
  if (!is_shared_kind(kind)) { return forget(on, index); }
  on.shared_here().erase(index);
  std::lock_guard const lock{owner::get().shared_mutex()};
  owner::get().shared().close(index, &free_image);
}

std::uint32_t index_for(isolated_device& on, object_kind kind) {
  if (!is_shared_kind(kind)) { return on.objects().next_index(); }
  std::lock_guard const lock{owner::get().shared_mutex()};
  return owner::get().shared().next_index();
}

std::string once_key(session const& call, std::size_t made_at, object_kind kind) {
  std::span<std::byte const> const request = call.request();
  std::string key{reinterpret_cast<char const*>(request.data()), request.size()};
  std::memset(key.data() + made_at, 0, sizeof(std::uint32_t));
  if (is_shared_kind(kind)) {
    std::memset(key.data() + offsetof(request_head, context), 0, sizeof(std::uint32_t));
  }
  return key;
}

std::uint64_t change_key(operation what, std::span<std::byte const> request) noexcept {
  // The object itself is the first word of most requests. The word behind it says which node,
  // attribute or limit of the object changes, or is the new value of its only property.
  std::uint32_t words[2] = {};
  std::size_t const bytes = std::min(request.size() - sizeof(request_head), sizeof words);
  std::memcpy(words, request.data() + sizeof(request_head), bytes);
  std::uint32_t which = 0;
  switch (what) {
    case operation::ctx_set_limit: which = words[0]; break;
    case operation::func_set_attribute:
    case operation::graph_node_set_enabled:
    case operation::graph_exec_kernel_node_set_params:
    case operation::graph_exec_batch_mem_op_node_set_params:
    case operation::graph_exec_memcpy_node_set_params:
    case operation::graph_exec_memset_node_set_params: which = words[1]; break;
    default: break;
  }
  return static_cast<std::uint64_t>(what) << 32 | which;
}

}  // namespace flotilla::isolated

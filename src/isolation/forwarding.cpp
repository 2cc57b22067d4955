// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/forwarding.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <flotilla/error/error.hpp>

#include "driver/cpu_devices.hpp"
#include "isolation/calls/calls.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/owner/owner.hpp"

namespace flotilla::isolated {

namespace {

/// Removes the entries that the forwarding driver does not have.
void remove_unforwarded(driver::table& from) {
  from.ctx_create_v4 = nullptr;
  from.ctx_create_v3 = nullptr;
  from.ctx_synchronize_v2 = nullptr;
  from.ctx_get_exec_affinity = nullptr;
  from.ctx_attach = nullptr;
  from.ctx_detach = nullptr;
  from.device_primary_ctx_retain = nullptr;
  from.device_primary_ctx_release = nullptr;
  from.device_primary_ctx_set_flags = nullptr;
  from.device_primary_ctx_reset = nullptr;
  from.func_get_module = nullptr;
  from.func_get_name = nullptr;
  from.module_load = nullptr;
  from.module_load_data_ex = nullptr;
  from.mem_alloc_host = nullptr;
  from.mem_get_address_range = nullptr;
  from.memcpy = nullptr;
  from.memcpy_peer = nullptr;
  from.memcpy_batch_async = nullptr;
  from.graph_add_empty_node = nullptr;
  from.graph_add_event_record_node = nullptr;
  from.graph_add_event_wait_node = nullptr;
  from.graph_add_dependencies = nullptr;
  from.graph_get_nodes = nullptr;
  from.graph_exec_event_record_node_set_event = nullptr;
  from.graph_exec_event_wait_node_set_event = nullptr;
  from.graph_kernel_node_set_attribute = nullptr;
  from.device_get_dev_resource = nullptr;
  from.dev_sm_resource_split_by_count = nullptr;
  from.dev_resource_generate_desc = nullptr;
  from.green_ctx_create = nullptr;
  from.green_ctx_destroy = nullptr;
  from.ctx_from_green_ctx = nullptr;
  from.ctx_get_dev_resource = nullptr;
  from.device_get_p2p_attribute = nullptr;
  from.device_get_mem_pool = nullptr;
  from.mem_pool_set_access = nullptr;
}

CUresult CUDAAPI stream_end_capture(CUstream stream, CUgraph* made) {
  owner& all = owner::get();
  bool const is_of_worker = reinterpret_cast<std::uintptr_t>(stream) >> 48 == handle_bits::mark;
  return is_of_worker ? CUDA_ERROR_NOT_SUPPORTED : all.base().stream_end_capture(stream, made);
}

bool is_program(std::filesystem::path const& file) {
  std::error_code failed;
  return std::filesystem::is_regular_file(file, failed) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::string worker_program(std::string const& asked) {
  constexpr char const* name = "flotilla-worker";
  // secure_getenv: a set-user-id program must not start what its caller names.
  char const* const named = ::secure_getenv("FLOTILLA_WORKER");
  std::string const wanted = !asked.empty() ? asked : named != nullptr ? named : "";
  if (!wanted.empty()) {
    std::error_code failed;
    std::filesystem::path const path = std::filesystem::absolute(wanted, failed);
    if (!failed && is_program(path)) { return path.string(); }
    throw invalid_argument("the worker program '" + wanted +
                           (asked.empty() ? "', which FLOTILLA_WORKER names," : "'") +
                           " is not a program that this process may run");
  }
  // Never by PATH or the working directory, which others may choose.
  Dl_info about{};
  std::vector<std::filesystem::path> places;
  if (::dladdr(reinterpret_cast<void const*>(&worker_program), &about) != 0) {
    std::error_code failed;
    // The name of the program itself may be relative to an earlier working directory.
    std::string const file = about.dli_fname[0] == '/' ? about.dli_fname : "/proc/self/exe";
    auto const folder = std::filesystem::canonical(file, failed).parent_path();
    for (char const* const each :
         {".", "../libexec/flotilla", "../bin", "../../bin", "../../libexec/flotilla"}) {
      places.push_back((folder / each / name).lexically_normal());
    }
  }
  std::string all;
  for (auto const& each : places) {
    if (is_program(each)) { return each.string(); }
    all += (all.empty() ? "" : ", ") + each.string();
  }
  throw invalid_argument(
      "the program flotilla-worker, which isolated devices need, is none of these: " + all +
      "; set runtime_options::worker_path or FLOTILLA_WORKER");
}

isolated_drivers isolate(std::shared_ptr<driver::table const> const& base,
                         std::span<isolated_choice const> devices, std::string const& worker) {
  owner* const before = owner::find();
  owner& all = owner::make(base, before != nullptr ? before->program() : worker_program(worker));
  for (isolated_choice const& each : devices) {
    all.isolate(each.ordinal);
    if (each.wants_spare) { all.device(each.ordinal)->want_spare(); }
  }
  all.keep_spares();
  static isolated_drivers const made = [&] {
    auto forwarding = std::make_shared<driver::table>(*base);
    remove_unforwarded(*forwarding);
    put_generic_calls(*forwarding);
    put_context_calls(*forwarding);
    put_memory_calls(*forwarding);
    put_pointer_calls(*forwarding);
    put_host_memory_calls(*forwarding);
    put_copy_calls(*forwarding);
    put_library_calls(*forwarding);
    put_launch_calls(*forwarding);
    put_graph_calls(*forwarding);
    forwarding->stream_end_capture = never_throws<&stream_end_capture>;
    driver::forward_injection(&inject_in_workers);
    forwarding->recovery = &all;
    forwarding->origin += ", isolated";
    auto local = std::make_shared<driver::table>(*base);
    put_local_calls(*local, *forwarding);
    local->beside = &all;
    return isolated_drivers{forwarding, local};
  }();
  return made;
}

void inject_in_workers(std::string_view spec) {
  owner* const all = owner::find();
  if (all == nullptr) { return; }
  control_message message{};
  message.kind = control_message::kinds::inject;
  do {  // a message has room for one rule
    std::string_view const rule = spec.substr(0, spec.find(','));
    spec.remove_prefix(std::min(rule.size() + 1, spec.size()));
    std::snprintf(message.text, sizeof message.text, "%.*s", static_cast<int>(rule.size()),
                  rule.data());
    for (int i = 0; i < max_devices; ++i) {
      isolated_device* const each = all->device(i);
      if (each == nullptr || each->workers().serving() == 0) { continue; }
      static_cast<void>(each->ask(message));
    }
  } while (!spec.empty());
}

std::size_t running_workers() {
  owner* const all = owner::find();
  return all != nullptr ? all->processes().running() : 0;
}

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The status codes of the CUDA driver, for code that does not include cuda.h.

#include <string>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The result of a driver call. It has the values of `CUresult`. `CUDA_ERROR_OUT_OF_MEMORY` is
/// named `out_of_memory` here, and so on. A newer driver may return values without a name in this
/// enum.
enum class driver_status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  profiler_disabled = 5,
  profiler_not_initialized = 6,
  profiler_already_started = 7,
  profiler_already_stopped = 8,
  stub_library = 34,
  call_requires_newer_driver = 36,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  device_not_licensed = 102,
  invalid_image = 200,
  invalid_context = 201,
  context_already_current = 202,
  map_failed = 205,
  unmap_failed = 206,
  array_is_mapped = 207,
  already_mapped = 208,
  no_binary_for_gpu = 209,
  already_acquired = 210,
  not_mapped = 211,
  not_mapped_as_array = 212,
  not_mapped_as_pointer = 213,
  ecc_uncorrectable = 214,
  unsupported_limit = 215,
  context_already_in_use = 216,
  peer_access_unsupported = 217,
  invalid_ptx = 218,
  invalid_graphics_context = 219,
  nvlink_uncorrectable = 220,
  jit_compiler_not_found = 221,
  unsupported_ptx_version = 222,
  jit_compilation_disabled = 223,
  unsupported_exec_affinity = 224,
  unsupported_devside_sync = 225,
  contained = 226,
  invalid_source = 300,
  file_not_found = 301,
  shared_object_symbol_not_found = 302,
  shared_object_init_failed = 303,
  operating_system = 304,
  invalid_handle = 400,
  illegal_state = 401,
  lossy_query = 402,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  launch_incompatible_texturing = 703,
  peer_access_already_enabled = 704,
  peer_access_not_enabled = 705,
  primary_context_active = 708,
  context_is_destroyed = 709,
  assert_ = 710,
  too_many_peers = 711,
  host_memory_already_registered = 712,
  host_memory_not_registered = 713,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  cooperative_launch_too_large = 720,
  tensor_memory_leak = 721,
  not_permitted = 800,
  not_supported = 801,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported_on_device = 804,
  mps_connection_failed = 805,
  mps_rpc_failure = 806,
  mps_server_not_ready = 807,
  mps_max_clients_reached = 808,
  mps_max_connections_reached = 809,
  mps_client_terminated = 810,
  cdp_not_supported = 811,
  cdp_version_mismatch = 812,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_merge = 902,
  stream_capture_unmatched = 903,
  stream_capture_unjoined = 904,
  stream_capture_isolation = 905,
  stream_capture_implicit = 906,
  captured_event = 907,
  stream_capture_wrong_thread = 908,
  timeout = 909,
  graph_exec_update_failure = 910,
  external_device = 911,
  invalid_cluster_size = 912,
  function_not_loaded = 913,
  invalid_resource_type = 914,
  invalid_resource_configuration = 915,
  key_rotation = 916,
  unknown = 999,
};

/// Returns the name of the status in cuda.h, such as "CUDA_ERROR_LAUNCH_FAILED". For a value
/// without a name it returns "CUDA_ERROR_(n)".
/// Threads: any. Blocks: never.
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(driver_status status);

/// Returns whether the driver is unusable in this process after it has returned `status`. After
/// such a status, every later call in every context of the process returns the same status, on all
/// devices. Only a new process can use the driver again. The set of these statuses was determined
/// by tests on GPUs, and agrees with the comments in `cuda.h`.
/// Threads: any. Blocks: never.
[[nodiscard]] FLOTILLA_EXPORT bool is_sticky(driver_status status) noexcept;

}  // namespace v0_1
}  // namespace flotilla

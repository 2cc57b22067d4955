// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/error/driver_status.hpp>

#include <cuda.h>

namespace flotilla {
inline namespace v0_1 {

std::string to_string(driver_status status) {
  switch (status) {
#define FLOTILLA_STATUS(ours, theirs)                               \
  case driver_status::ours:                                         \
    static_assert(static_cast<int>(driver_status::ours) == theirs); \
    return #theirs;
    FLOTILLA_STATUS(success, CUDA_SUCCESS)
    FLOTILLA_STATUS(invalid_value, CUDA_ERROR_INVALID_VALUE)
    FLOTILLA_STATUS(out_of_memory, CUDA_ERROR_OUT_OF_MEMORY)
    FLOTILLA_STATUS(not_initialized, CUDA_ERROR_NOT_INITIALIZED)
    FLOTILLA_STATUS(deinitialized, CUDA_ERROR_DEINITIALIZED)
    FLOTILLA_STATUS(profiler_disabled, CUDA_ERROR_PROFILER_DISABLED)
    FLOTILLA_STATUS(profiler_not_initialized, CUDA_ERROR_PROFILER_NOT_INITIALIZED)
    FLOTILLA_STATUS(profiler_already_started, CUDA_ERROR_PROFILER_ALREADY_STARTED)
    FLOTILLA_STATUS(profiler_already_stopped, CUDA_ERROR_PROFILER_ALREADY_STOPPED)
    FLOTILLA_STATUS(stub_library, CUDA_ERROR_STUB_LIBRARY)
    FLOTILLA_STATUS(call_requires_newer_driver, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    FLOTILLA_STATUS(device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE)
    FLOTILLA_STATUS(no_device, CUDA_ERROR_NO_DEVICE)
    FLOTILLA_STATUS(invalid_device, CUDA_ERROR_INVALID_DEVICE)
    FLOTILLA_STATUS(device_not_licensed, CUDA_ERROR_DEVICE_NOT_LICENSED)
    FLOTILLA_STATUS(invalid_image, CUDA_ERROR_INVALID_IMAGE)
    FLOTILLA_STATUS(invalid_context, CUDA_ERROR_INVALID_CONTEXT)
    FLOTILLA_STATUS(context_already_current, CUDA_ERROR_CONTEXT_ALREADY_CURRENT)
    FLOTILLA_STATUS(map_failed, CUDA_ERROR_MAP_FAILED)
    FLOTILLA_STATUS(unmap_failed, CUDA_ERROR_UNMAP_FAILED)
    FLOTILLA_STATUS(array_is_mapped, CUDA_ERROR_ARRAY_IS_MAPPED)
    FLOTILLA_STATUS(already_mapped, CUDA_ERROR_ALREADY_MAPPED)
    FLOTILLA_STATUS(no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
    FLOTILLA_STATUS(already_acquired, CUDA_ERROR_ALREADY_ACQUIRED)
    FLOTILLA_STATUS(not_mapped, CUDA_ERROR_NOT_MAPPED)
    FLOTILLA_STATUS(not_mapped_as_array, CUDA_ERROR_NOT_MAPPED_AS_ARRAY)
    FLOTILLA_STATUS(not_mapped_as_pointer, CUDA_ERROR_NOT_MAPPED_AS_POINTER)
    FLOTILLA_STATUS(ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE)
    FLOTILLA_STATUS(unsupported_limit, CUDA_ERROR_UNSUPPORTED_LIMIT)
    FLOTILLA_STATUS(context_already_in_use, CUDA_ERROR_CONTEXT_ALREADY_IN_USE)
    FLOTILLA_STATUS(peer_access_unsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
    FLOTILLA_STATUS(invalid_ptx, CUDA_ERROR_INVALID_PTX)
    FLOTILLA_STATUS(invalid_graphics_context, CUDA_ERROR_INVALID_GRAPHICS_CONTEXT)
    FLOTILLA_STATUS(nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE)
    FLOTILLA_STATUS(jit_compiler_not_found, CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
    FLOTILLA_STATUS(unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    FLOTILLA_STATUS(jit_compilation_disabled, CUDA_ERROR_JIT_COMPILATION_DISABLED)
    FLOTILLA_STATUS(unsupported_exec_affinity, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
    FLOTILLA_STATUS(unsupported_devside_sync, CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC)
    FLOTILLA_STATUS(contained, CUDA_ERROR_CONTAINED)
    FLOTILLA_STATUS(invalid_source, CUDA_ERROR_INVALID_SOURCE)
    FLOTILLA_STATUS(file_not_found, CUDA_ERROR_FILE_NOT_FOUND)
    FLOTILLA_STATUS(shared_object_symbol_not_found, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND)
    FLOTILLA_STATUS(shared_object_init_failed, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED)
    FLOTILLA_STATUS(operating_system, CUDA_ERROR_OPERATING_SYSTEM)
    FLOTILLA_STATUS(invalid_handle, CUDA_ERROR_INVALID_HANDLE)
    FLOTILLA_STATUS(illegal_state, CUDA_ERROR_ILLEGAL_STATE)
    FLOTILLA_STATUS(lossy_query, CUDA_ERROR_LOSSY_QUERY)
    FLOTILLA_STATUS(not_found, CUDA_ERROR_NOT_FOUND)
    FLOTILLA_STATUS(not_ready, CUDA_ERROR_NOT_READY)
    FLOTILLA_STATUS(illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS)
    FLOTILLA_STATUS(launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    FLOTILLA_STATUS(launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT)
    FLOTILLA_STATUS(launch_incompatible_texturing, CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING)
    FLOTILLA_STATUS(peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    FLOTILLA_STATUS(peer_access_not_enabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
    FLOTILLA_STATUS(primary_context_active, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE)
    FLOTILLA_STATUS(context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED)
    FLOTILLA_STATUS(assert_, CUDA_ERROR_ASSERT)
    FLOTILLA_STATUS(too_many_peers, CUDA_ERROR_TOO_MANY_PEERS)
    FLOTILLA_STATUS(host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    FLOTILLA_STATUS(host_memory_not_registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    FLOTILLA_STATUS(hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR)
    FLOTILLA_STATUS(illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION)
    FLOTILLA_STATUS(misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS)
    FLOTILLA_STATUS(invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE)
    FLOTILLA_STATUS(invalid_pc, CUDA_ERROR_INVALID_PC)
    FLOTILLA_STATUS(launch_failed, CUDA_ERROR_LAUNCH_FAILED)
    FLOTILLA_STATUS(cooperative_launch_too_large, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
    FLOTILLA_STATUS(tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK)
    FLOTILLA_STATUS(not_permitted, CUDA_ERROR_NOT_PERMITTED)
    FLOTILLA_STATUS(not_supported, CUDA_ERROR_NOT_SUPPORTED)
    FLOTILLA_STATUS(system_not_ready, CUDA_ERROR_SYSTEM_NOT_READY)
    FLOTILLA_STATUS(system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
    FLOTILLA_STATUS(compat_not_supported_on_device, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)
    FLOTILLA_STATUS(mps_connection_failed, CUDA_ERROR_MPS_CONNECTION_FAILED)
    FLOTILLA_STATUS(mps_rpc_failure, CUDA_ERROR_MPS_RPC_FAILURE)
    FLOTILLA_STATUS(mps_server_not_ready, CUDA_ERROR_MPS_SERVER_NOT_READY)
    FLOTILLA_STATUS(mps_max_clients_reached, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED)
    FLOTILLA_STATUS(mps_max_connections_reached, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED)
    FLOTILLA_STATUS(mps_client_terminated, CUDA_ERROR_MPS_CLIENT_TERMINATED)
    FLOTILLA_STATUS(cdp_not_supported, CUDA_ERROR_CDP_NOT_SUPPORTED)
    FLOTILLA_STATUS(cdp_version_mismatch, CUDA_ERROR_CDP_VERSION_MISMATCH)
    FLOTILLA_STATUS(stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    FLOTILLA_STATUS(stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    FLOTILLA_STATUS(stream_capture_merge, CUDA_ERROR_STREAM_CAPTURE_MERGE)
    FLOTILLA_STATUS(stream_capture_unmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    FLOTILLA_STATUS(stream_capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    FLOTILLA_STATUS(stream_capture_isolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    FLOTILLA_STATUS(stream_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    FLOTILLA_STATUS(captured_event, CUDA_ERROR_CAPTURED_EVENT)
    FLOTILLA_STATUS(stream_capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
    FLOTILLA_STATUS(timeout, CUDA_ERROR_TIMEOUT)
    FLOTILLA_STATUS(graph_exec_update_failure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    FLOTILLA_STATUS(external_device, CUDA_ERROR_EXTERNAL_DEVICE)
    FLOTILLA_STATUS(invalid_cluster_size, CUDA_ERROR_INVALID_CLUSTER_SIZE)
    FLOTILLA_STATUS(function_not_loaded, CUDA_ERROR_FUNCTION_NOT_LOADED)
    FLOTILLA_STATUS(invalid_resource_type, CUDA_ERROR_INVALID_RESOURCE_TYPE)
    FLOTILLA_STATUS(invalid_resource_configuration, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION)
    FLOTILLA_STATUS(key_rotation, CUDA_ERROR_KEY_ROTATION)
    FLOTILLA_STATUS(unknown, CUDA_ERROR_UNKNOWN)
#undef FLOTILLA_STATUS
  }
  return "CUDA_ERROR_(" + std::to_string(static_cast<int>(status)) + ")";
}

bool is_sticky(driver_status status) noexcept {
  switch (status) {
    case driver_status::illegal_address:
    case driver_status::launch_timeout:
    case driver_status::assert_:
    case driver_status::hardware_stack_error:
    case driver_status::illegal_instruction:
    case driver_status::misaligned_address:
    case driver_status::invalid_address_space:
    case driver_status::invalid_pc:
    case driver_status::launch_failed:
    case driver_status::ecc_uncorrectable:
    case driver_status::nvlink_uncorrectable:
    case driver_status::contained:
    case driver_status::tensor_memory_leak: return true;
    default: return false;
  }
}

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Includes the public headers for host code, with these exceptions: <flotilla/native.hpp> (it
/// needs cuda.h), <flotilla/mpi.hpp> (it needs mpi.h), <flotilla/task/coroutine.hpp>, and the
/// headers in flotilla/testing (they are for tests).

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/cluster/distribution.hpp>
#include <flotilla/cluster/transport.hpp>
#include <flotilla/context/context_driver.hpp>
#include <flotilla/context/context_ref.hpp>
#include <flotilla/context/floating_context.hpp>
#include <flotilla/data/data.hpp>
#include <flotilla/data/default_flow.hpp>
#include <flotilla/data/flow.hpp>
#include <flotilla/data/reduction.hpp>
#include <flotilla/data/tile_array.hpp>
#include <flotilla/data/uses.hpp>
#include <flotilla/data/view.hpp>
#include <flotilla/device/counters.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/device/driver_report.hpp>
#include <flotilla/device/health.hpp>
#include <flotilla/device/memory_info.hpp>
#include <flotilla/device/peer_access.hpp>
#include <flotilla/error/compile_error.hpp>
#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/error/log.hpp>
#include <flotilla/interop.hpp>
#include <flotilla/kernel/compile.hpp>
#include <flotilla/kernel/compiler_report.hpp>
#include <flotilla/kernel/data_launch.hpp>
#include <flotilla/kernel/image.hpp>
#include <flotilla/kernel/kernel.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/program.hpp>
#include <flotilla/kernel/untyped_data_launch.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/device_span.hpp>
#include <flotilla/memory/host_buffer.hpp>
#include <flotilla/memory/host_span.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/runtime_options.hpp>
#include <flotilla/settings/checks.hpp>
#include <flotilla/settings/context_source.hpp>
#include <flotilla/settings/explanations.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>
#include <flotilla/task/bulk.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/event_fd.hpp>
#include <flotilla/task/executor.hpp>
#include <flotilla/task/host_task.hpp>
#include <flotilla/task/per_device.hpp>
#include <flotilla/task/placement.hpp>
#include <flotilla/task/recording.hpp>
#include <flotilla/task/stop_option.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>
#include <flotilla/task/wait_any.hpp>
#include <flotilla/trace.hpp>
#include <flotilla/version.hpp>

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A transcript has one line per call: "what was done: STATUS result". The same program runs on a
// GPU's driver and on the CPU driver, so the transcripts can be compared.

#include <cuda.h>

#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

namespace transcript {

/// Writes a line about a driver call and its status.
void say(std::string const& what, CUresult status, std::string const& result = "");
/// Writes a line about a result without a status.
void note(std::string const& what, std::string const& result);

[[nodiscard]] std::string text(long long value);
[[nodiscard]] std::string yes(bool value);

/// Names of contexts. The transcript shows these names instead of the contexts' addresses.
using named = std::initializer_list<std::pair<char const*, CUcontext>>;
[[nodiscard]] std::string name_of(CUcontext which, named known);

/// Returns the context that is current on this thread, or null.
[[nodiscard]] CUcontext current();
/// Returns a context that is current on no thread. If the creation fails, ends the process with a
/// message.
[[nodiscard]] CUcontext floating(CUdevice device = 0, unsigned flags = 0);
void push(CUcontext which);
CUcontext pop();

/// Loads the kernels into the current context.
[[nodiscard]] CUmodule load_kernels();
[[nodiscard]] CUfunction find(CUmodule in, char const* name);

/// Launches one block of one thread.
template <class... Arguments>
CUresult launch(CUfunction what, CUstream where, Arguments... arguments) {
  void* addresses[] = {&arguments..., nullptr};
  return cuLaunchKernel(what, 1, 1, 1, 1, 1, 1, 0, where,
                        sizeof...(arguments) ? addresses : nullptr, nullptr);
}

/// Has a kernel of the current context read two integers at `there`, and says what it read. Returns
/// the address of their sum. The context owns that memory.
CUdeviceptr read_by_kernel(char const* what, CUdeviceptr there);

/// Runs `work` on a new thread and waits for it.
template <class Work>
void elsewhere(Work&& work) {
  std::thread(std::forward<Work>(work)).join();
}

// Each of these functions writes one section.
void stacks();
void destruction();
void destroyed_facts();
void destroyed_set_flags();
void destroyed_limit();
void destroyed_set_limit();
void destroyed_cache();
void destroyed_priorities();
void destroyed_synchronise();
void destroyed_allocate();
void destroyed_stream();
void destroyed_event();
void over_a_destroyed_context();
void a_destroyed_context_below();
void a_destroyed_context_twice();
void memory_of_the_destroyed();
void flags_and_limits();
void limits_in_turn();
void flags_in_turn();
void limits_after_launches();
void usage_counts();
void destroyed_while_attached();
void primary_contexts();
void released_primary();
void pool_memory_of_the_destroyed();
void foreign_handles();
void caches();
void modules_of_two_contexts();
void peers();
void peers_of_two_devices();
void pools();
void pools_of_two_devices();
void host_memory();
void resources_of_devices();
void parts_of_parts();
void describe_none();
void describe_nothing();
void describe_nowhere();
void wrong_descriptions();
void execution_affinity();
void green_contexts();
void green_streams();
void events_of_contexts();
void null_arguments();
void null_error_name();
void null_answers_of_devices();
void without_a_context();
void after_a_trap();
void a_trap_elsewhere();

}  // namespace transcript

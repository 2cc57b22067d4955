// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Usage: flotilla_conformance IMAGE [SECTION…]
//
// IMAGE contains the kernels of kernels.cu: conformance_kernels.so for the CPU driver,
// conformance_kernels.fatbin for a GPU's driver. Each section runs in its own process, forked
// before the first driver call. A fault or crash in one section does not affect the other sections.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "transcript.hpp"

namespace transcript {
namespace {

char const* image_path = nullptr;

struct section {
  std::string_view name;
  void (*run)();
};

constexpr section sections[] = {
    {"stacks", stacks},
    {"destruction", destruction},
    {"destroyed_facts", destroyed_facts},
    {"destroyed_set_flags", destroyed_set_flags},
    {"destroyed_limit", destroyed_limit},
    {"destroyed_set_limit", destroyed_set_limit},
    {"destroyed_cache", destroyed_cache},
    {"destroyed_priorities", destroyed_priorities},
    {"destroyed_synchronise", destroyed_synchronise},
    {"destroyed_allocate", destroyed_allocate},
    {"destroyed_stream", destroyed_stream},
    {"destroyed_event", destroyed_event},
    {"over_a_destroyed_context", over_a_destroyed_context},
    {"a_destroyed_context_below", a_destroyed_context_below},
    {"a_destroyed_context_twice", a_destroyed_context_twice},
    {"memory_of_the_destroyed", memory_of_the_destroyed},
    {"flags_and_limits", flags_and_limits},
    {"limits_in_turn", limits_in_turn},
    {"flags_in_turn", flags_in_turn},
    {"limits_after_launches", limits_after_launches},
    {"usage_counts", usage_counts},
    {"destroyed_while_attached", destroyed_while_attached},
    {"primary_contexts", primary_contexts},
    {"released_primary", released_primary},
    {"pool_memory_of_the_destroyed", pool_memory_of_the_destroyed},
    {"foreign_handles", foreign_handles},
    {"caches", caches},
    {"modules_of_two_contexts", modules_of_two_contexts},
    {"peers", peers},
    {"peers_of_two_devices", peers_of_two_devices},
    {"pools", pools},
    {"pools_of_two_devices", pools_of_two_devices},
    {"host_memory", host_memory},
    {"resources_of_devices", resources_of_devices},
    {"parts_of_parts", parts_of_parts},
    {"describe_none", describe_none},
    {"describe_nothing", describe_nothing},
    {"describe_nowhere", describe_nowhere},
    {"wrong_descriptions", wrong_descriptions},
    {"execution_affinity", execution_affinity},
    {"green_contexts", green_contexts},
    {"green_streams", green_streams},
    {"events_of_contexts", events_of_contexts},
    {"null_arguments", null_arguments},
    {"null_error_name", null_error_name},
    {"null_answers_of_devices", null_answers_of_devices},
    {"without_a_context", without_a_context},
    {"after_a_trap", after_a_trap},
    {"a_trap_elsewhere", a_trap_elsewhere},
};

[[noreturn]] void run(section const& which) {
  if (CUresult const status = cuInit(0)) {
    say("setup: cuInit", status);
    std::_Exit(1);
  }
  which.run();
  std::fflush(stdout);
  // Skips destructors, because this program does not test the driver's behaviour at exit.
  std::_Exit(0);
}

bool run_apart(section const& which) {
  std::printf("# %.*s\n", static_cast<int>(which.name.size()), which.name.data());
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) { run(which); }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) { return false; }
  if (WIFSIGNALED(status)) { std::printf("(ended by signal %d)\n", WTERMSIG(status)); }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

void say(std::string const& what, CUresult status, std::string const& result) {
  char const* name = nullptr;
  cuGetErrorName(status, &name);
  std::printf("%s: %s%s%s\n", what.c_str(), name != nullptr ? name : "(no status)",
              result.empty() ? "" : " ", result.c_str());
  std::fflush(stdout);
}

void note(std::string const& what, std::string const& result) {
  std::printf("%s: %s\n", what.c_str(), result.c_str());
  std::fflush(stdout);
}

std::string text(long long value) { return std::to_string(value); }
std::string yes(bool value) { return value ? "yes" : "no"; }

std::string name_of(CUcontext which, named known) {
  if (which == nullptr) { return "none"; }
  auto const* const found = std::find_if(known.begin(), known.end(),
                                         [&](auto const& each) { return each.second == which; });
  return found != known.end() ? found->first : "another";
}

CUcontext current() {
  CUcontext found = nullptr;
  cuCtxGetCurrent(&found);
  return found;
}

CUcontext floating(CUdevice device, unsigned flags) {
  CUcontext made = nullptr;
  if (CUresult const status = cuCtxCreate(&made, nullptr, flags, device)) {
    say("setup: a context on device " + text(device), status);
    std::_Exit(1);
  }
  pop();
  return made;
}

void push(CUcontext which) {
  if (CUresult const status = cuCtxPushCurrent(which)) { say("setup: push", status); }
}

CUcontext pop() {
  CUcontext popped = nullptr;
  if (CUresult const status = cuCtxPopCurrent(&popped)) { say("setup: pop", status); }
  return popped;
}

CUmodule load_kernels() {
  CUmodule made = nullptr;
  if (CUresult const status = cuModuleLoad(&made, image_path)) { say("setup: the image", status); }
  return made;
}

CUfunction find(CUmodule in, char const* name) {
  CUfunction found = nullptr;
  if (CUresult const status = cuModuleGetFunction(&found, in, name)) {
    say(std::string("setup: kernel ") + name, status);
  }
  return found;
}

CUdeviceptr read_by_kernel(char const* what, CUdeviceptr there) {
  CUdeviceptr sum = 0;
  cuMemAlloc(&sum, sizeof(int));
  cuMemsetD32(sum, 0, 1);
  say(what, launch(find(load_kernels(), "add_up"), nullptr, there, 2, sum));
  int result = 0;
  CUresult const status = cuMemcpyDtoH(&result, sum, sizeof result);
  say("what it read", status, text(result));
  return sum;
}

}  // namespace transcript

int main(int count, char** words) {
  using namespace transcript;
  if (count < 2) {
    std::fprintf(stderr, "usage: %s IMAGE [SECTION...]\n", words[0]);
    return 2;
  }
  image_path = words[1];
  std::vector<std::string_view> const asked(words + 2, words + count);
  for (std::string_view const name : asked) {
    if (std::none_of(std::begin(sections), std::end(sections),
                     [&](section const& each) { return each.name == name; })) {
      std::fprintf(stderr, "%s: there is no section %s\n", words[0], name.data());
      return 2;
    }
  }
  bool all_ended = true;
  for (section const& each : sections) {
    bool const wanted =
        asked.empty() || std::find(asked.begin(), asked.end(), each.name) != asked.end();
    if (wanted) { all_ended &= run_apart(each); }
  }
  return all_ended ? 0 : 1;
}

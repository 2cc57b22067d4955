// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/program.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "c_api/call.hpp"
#include "c_api/compile_options_of.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

image image_of(flotilla_image const& given) {
  check_size(given, "flotilla_image");
  return {.name = &required(given.name, "image->name"),
          .gpu = given.gpu,
          .gpu_bytes = given.gpu_bytes,
          .cpu = given.cpu,
          .cpu_bytes = given.cpu_bytes,
          .gpu_only = given.gpu_only};
}

/// Adds an object that ends with its runtime to a table, and to the list of the runtime, whose
/// mutex must be locked.
template <class Table, class T>
std::uint64_t add_to(Table& table, T&& object, std::vector<std::uint64_t>& list) {
  list.push_back(0);
  try {
    list.back() = table.add(std::forward<T>(object));
  } catch (...) {
    list.pop_back();
    throw;
  }
  return list.back();
}

/// Returns the handle of a kernel. The first call for a kernel makes it.
std::uint64_t find_kernel(held_program& of, std::string const& name) {
  {
    std::lock_guard const lock(of.owner.mutex);
    auto const known = of.kernels.find(name);
    if (known != of.kernels.end()) { return known->second; }
  }
  // Not under the mutex: the call may wait for a device, which the function of a task may hold
  // while it waits for the mutex.
  held_kernel found{of.owner, of.loaded.kernel(name)};
  std::lock_guard const lock(of.owner.mutex);
  std::uint64_t& handle = of.kernels[name];
  if (handle == 0) { handle = add_to(kernel_table::get(), std::move(found), of.owner.kernels); }
  return handle;
}

template <class Load>
void load(flotilla_runtime handle, flotilla_program* made, Load const& load_with) {
  required(made, "made").id = 0;
  held_runtime& owner = object(handle);
  held_program loaded{owner, load_with(owner.rt)};
  std::lock_guard const lock(owner.mutex);
  made->id = add_to(program_table::get(), std::move(loaded), owner.programs);
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_program_load(flotilla_runtime rt, flotilla_image const* image,
                                      flotilla_program* made) {
  return guarded("flotilla_program_load", [&] {
    load(rt, made,
         [&](flotilla::runtime& with) { return with.load(image_of(required(image, "image"))); });
  });
}

flotilla_status flotilla_program_load_file(flotilla_runtime rt, char const* path,
                                           flotilla_program* made) {
  return guarded("flotilla_program_load_file", [&] {
    load(rt, made, [&](flotilla::runtime& with) {
      return with.load(std::filesystem::path{text_of(path, "path")});
    });
  });
}

flotilla_status flotilla_program_compile(flotilla_runtime rt, char const* source,
                                         flotilla_compile_options const* options,
                                         flotilla_program* made) {
  return guarded("flotilla_program_compile", [&] {
    static constexpr flotilla_compile_options defaults = FLOTILLA_COMPILE_OPTIONS_INIT;
    flotilla_compile_options const& given = options == nullptr ? defaults : *options;
    flotilla::compile_options const checked = compile_options_of(given);
    write_log(given, "");
    try {
      load(rt, made, [&](flotilla::runtime& with) {
        return flotilla::compile(with, text_of(source, "source"), checked);
      });
    } catch (flotilla::compile_error const& why) {
      write_log(given, why.log());
      throw;
    }
  });
}

flotilla_status flotilla_program_kernel(flotilla_program program, char const* name,
                                        flotilla_kernel* found) {
  return guarded("flotilla_program_kernel", [&] {
    required(found, "found").id = 0;
    found->id = find_kernel(object(program), text_of(name, "name"));
  });
}

flotilla_status flotilla_kernel_parameter_count(flotilla_kernel kernel, size_t* count) {
  return guarded("flotilla_kernel_parameter_count",
                 [&] { required(count, "count") = object(kernel).found.parameters().size(); });
}

flotilla_status flotilla_kernel_parameter_bytes(flotilla_kernel kernel, size_t index,
                                                size_t* bytes) {
  return guarded("flotilla_kernel_parameter_bytes", [&] {
    auto const parameters = object(kernel).found.parameters();
    if (index >= parameters.size()) {
      throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                         "kernel '" + std::string{object(kernel).found.name()} + "' has " +
                             std::to_string(parameters.size()) +
                             " parameters, so there is none with index " + std::to_string(index));
    }
    required(bytes, "bytes") = parameters[index].bytes;
  });
}

flotilla_status flotilla_program_write_global(flotilla_program program, unsigned device,
                                              char const* name, void const* from, size_t bytes) {
  return guarded("flotilla_program_write_global", [&] {
    auto const* const first = &required(static_cast<std::byte const*>(from), "from");
    object(program).loaded.write_global(flotilla::device_ordinal{device}, text_of(name, "name"),
                                        {first, bytes});
  });
}

flotilla_status flotilla_program_read_global(flotilla_program program, unsigned device,
                                             char const* name, void* to, size_t bytes) {
  return guarded("flotilla_program_read_global", [&] {
    auto* const first = &required(static_cast<std::byte*>(to), "to");
    object(program).loaded.read_global(flotilla::device_ordinal{device}, text_of(name, "name"),
                                       {first, bytes});
  });
}

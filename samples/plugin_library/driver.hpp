// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of the driver API that the application uses. They are loaded at run time, so that
// the program does not have to link libcuda.

#include <cuda.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

struct driver {
  driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) { throw std::runtime_error{std::string{"no driver: "} + dlerror()}; }
    load(library, init, "cuInit");
    load(library, create, "cuCtxCreate_v2");
    load(library, destroy, "cuCtxDestroy_v2");
    load(library, push, "cuCtxPushCurrent_v2");
    load(library, pop, "cuCtxPopCurrent_v2");
    load(library, current, "cuCtxGetCurrent");
    if (CUresult const status = init(0)) {
      throw std::runtime_error{"cuInit returned " + std::to_string(status)};
    }
  }
  /// Creates a context that is current on no thread.
  CUcontext create_floating() const {
    CUcontext context = nullptr;
    if (CUresult const status = create(&context, 0, 0)) {
      throw std::runtime_error{"cuCtxCreate returned " + std::to_string(status)};
    }
    pop(nullptr);
    return context;
  }

  CUresult (*init)(unsigned);
  CUresult (*create)(CUcontext*, unsigned, CUdevice);
  CUresult (*destroy)(CUcontext);
  CUresult (*push)(CUcontext);
  CUresult (*pop)(CUcontext*);
  CUresult (*current)(CUcontext*);

 private:
  template <class Function>
  static void load(void* library, Function& function, char const* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) {
      throw std::runtime_error{std::string{"the driver does not export "} + name};
    }
  }
};

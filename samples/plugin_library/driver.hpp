#pragma once
// The driver API as the application uses it: opened at run time, so that it links against no
// libcuda.

#include <cuda.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

struct driver {
  driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) { throw std::runtime_error{std::string{"no driver: "} + dlerror()}; }
    take(library, init, "cuInit");
    take(library, create, "cuCtxCreate_v2");
    take(library, destroy, "cuCtxDestroy_v2");
    take(library, push, "cuCtxPushCurrent_v2");
    take(library, pop, "cuCtxPopCurrent_v2");
    take(library, current, "cuCtxGetCurrent");
    if (CUresult const answer = init(0)) {
      throw std::runtime_error{"cuInit answered " + std::to_string(answer)};
    }
  }
  /// A context that is current nowhere.
  CUcontext floating() const {
    CUcontext made = nullptr;
    if (CUresult const answer = create(&made, 0, 0)) {
      throw std::runtime_error{"cuCtxCreate answered " + std::to_string(answer)};
    }
    pop(nullptr);
    return made;
  }

  CUresult (*init)(unsigned);
  CUresult (*create)(CUcontext*, unsigned, CUdevice);
  CUresult (*destroy)(CUcontext);
  CUresult (*push)(CUcontext);
  CUresult (*pop)(CUcontext*);
  CUresult (*current)(CUcontext*);

 private:
  template <class Function>
  static void take(void* library, Function& into, char const* name) {
    into = reinterpret_cast<Function>(dlsym(library, name));
    if (into == nullptr) { throw std::runtime_error{std::string{"the driver has no "} + name}; }
  }
};

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/opened_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace flotilla::compiler {

opened_library open_first(std::span<std::string const> names) {
  opened_library made;
  for (std::string const& name : names) {
    made.handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (made.handle != nullptr) {
      link_map* found = nullptr;
      bool const known = ::dlinfo(made.handle, RTLD_DI_LINKMAP, &found) == 0 && found != nullptr;
      made.path = known ? found->l_name : name;
      return made;
    }
    char const* const said = ::dlerror();
    made.tried += (made.tried.empty() ? "" : "; ") + std::string{said != nullptr ? said : name};
  }
  return made;
}

void* find_entry(opened_library const& in, char const* name) noexcept {
  return in.handle == nullptr ? nullptr : ::dlsym(in.handle, name);
}

}  // namespace flotilla::compiler

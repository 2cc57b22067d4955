// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Adds twins to whole modules, and reports the kernels without one.

#include <string>
#include <string_view>
#include <vector>

namespace flotilla::make_twins {

/// A kernel without a twin. An empty name: no kernel of the module has one.
struct unsuitable_kernel {
  std::string name;
  std::string reason;
};

struct module_with_twins {
  std::string ptx;     ///< the original text, with an older version if possible, and the twins
  std::string target;  ///< the architecture, for example "sm_90"
  std::vector<unsuitable_kernel> unsuitable;
};

/// @throws malformed_ptx  The text is not PTX.
[[nodiscard]] module_with_twins add_twins(std::string_view ptx);

/// Returns one line for each kernel without a twin. The modules hold the same kernels for different
/// architectures. A line names the architectures if it does not apply to all modules.
[[nodiscard]] std::vector<std::string> report(std::vector<module_with_twins> const& modules);

}  // namespace flotilla::make_twins

#pragma once
// A finding of `flotilla doctor`: one line of its report.

#include <string>
#include <vector>

namespace tool {

struct finding {
  enum class grades { ok, note, warning, broken };
  grades grade = grades::ok;
  std::string about;   ///< "driver", "device 0: context"
  std::string text;    ///< what was found
  std::string advice;  ///< what to do about it; empty: nothing
};
using findings = std::vector<finding>;

[[nodiscard]] char const* to_string(finding::grades grade) noexcept;

/// Processors, the limit of locked memory, and the settings of the environment.
void examine_machine(findings& into);
/// The drivers, or why one is missing. @return whether there are GPUs to examine.
bool examine_drivers(findings& into);
/// Each device of the driver in use: compute mode, NUMA node, the cost of a context; and the links
/// between devices.
void examine_devices(findings& into, bool gpus);
/// Whether a runtime starts on these devices, and which of its settings were not granted.
void examine_runtime(findings& into, std::string const& specification);

}  // namespace tool

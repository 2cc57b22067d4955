#pragma once
// What the doctor found: one line of its report.

#include <string>
#include <vector>

namespace tool {

struct finding {
  enum class grades { ok, note, warning, broken };
  grades grade = grades::ok;
  std::string about;   ///< "driver", "device 0: context"
  std::string text;    ///< what there is
  std::string advice;  ///< what to do about it; empty where nothing is to be done
};
using findings = std::vector<finding>;

[[nodiscard]] char const* to_string(finding::grades grade) noexcept;

/// Processors, memory that may be locked, and the environment's settings.
void examine_machine(findings& into);
/// Which drivers there are, or why not. @return whether there are GPUs to go on with.
bool examine_drivers(findings& into);
/// Each device of the driver in use: compute mode, NUMA node, what a context costs; and the links between them.
void examine_devices(findings& into, bool gpus);
/// Whether a runtime starts as the environment asks, and what became of its settings.
void examine_runtime(findings& into, std::string const& specification);

}  // namespace tool

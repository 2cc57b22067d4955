// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor_command.hpp"

#include <algorithm>
#include <ostream>

#include <nlohmann/json.hpp>

#include <flotilla/version.hpp>

#include "finding.hpp"

namespace tool {

char const* to_string(finding::grades grade) noexcept {
  switch (grade) {
    case finding::grades::ok: return "ok";
    case finding::grades::note: return "note";
    case finding::grades::warning: return "warning";
    case finding::grades::broken: return "broken";
  }
  return "";
}

bool print_doctor(std::ostream& out, std::string const& specification, bool json) {
  findings all;
  examine_machine(all);
  bool const gpus = examine_drivers(all);
  examine_compilers(all, flotilla::describe_compilers(), gpus);
  examine_devices(all, gpus);
  examine_runtime(all, specification);
  bool const well = std::none_of(all.begin(), all.end(), [](finding const& each) {
    return each.grade == finding::grades::broken;
  });
  if (json) {
    nlohmann::ordered_json report{{"flotilla", std::string{flotilla::version().text}},
                                  {"broken", !well}};
    report["findings"] = nlohmann::ordered_json::array();
    for (finding const& each : all) {
      nlohmann::ordered_json line{
          {"grade", to_string(each.grade)}, {"about", each.about}, {"text", each.text}};
      if (!each.advice.empty()) { line["advice"] = each.advice; }
      report["findings"].push_back(std::move(line));
    }
    out << report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    return well;
  }
  std::size_t width = 0;
  for (finding const& each : all) { width = std::max(width, each.about.size()); }
  for (finding const& each : all) {
    std::string grade = to_string(each.grade);
    grade.resize(9, ' ');
    out << grade << each.about << std::string(width + 2 - each.about.size(), ' ') << each.text
        << '\n';
    if (!each.advice.empty()) { out << std::string(9, ' ') << "  -> " << each.advice << '\n'; }
  }
  out << (well ? "nothing is broken\n" : "something is broken: see above\n");
  return well;
}

}  // namespace tool

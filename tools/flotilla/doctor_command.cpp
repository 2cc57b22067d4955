// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor_command.hpp"

#include <algorithm>
#include <ostream>

#include <nlohmann/json.hpp>

#include <flotilla/version.hpp>

#include "doctor_ranks.hpp"
#include "doctor_surroundings.hpp"
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
  flotilla::driver_report const drivers = flotilla::describe_drivers();
  surroundings const around = real_surroundings(drivers);
  launch const how = flotilla::base::find_launch(around.variable);
  findings all;
  examine_rank(all, around, how);
  // Under a launcher, one rank of each machine examines what is the same for all of them.
  bool const examines_machine = how.local_rank == 0;
  if (examines_machine) {
    examine_settings(all);
    examine_drivers(all, drivers);
    examine_surroundings(all, around, how.local_ranks);
    examine_limits(all, around);
    examine_compilers(all, flotilla::describe_compilers(), drivers.gpus);
    examine_devices(all, drivers.gpus);
    examine_runtime(all, specification);
  }
  bool const well = std::none_of(all.begin(), all.end(), [](finding const& each) {
    return each.grade == finding::grades::broken;
  });
  if (json) {
    nlohmann::ordered_json report{{"flotilla", std::string{flotilla::version().text}},
                                  {"broken", !well}};
    if (how.ranks > 1) { report["rank"] = how.rank; }
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
  // Ranks print at the same time, so each line names its rank, and all lines are written at once.
  std::string const rank = how.ranks > 1 ? "rank " + std::to_string(how.rank) + ": " : "";
  std::string text;
  std::size_t width = 0;
  for (finding const& each : all) { width = std::max(width, each.about.size()); }
  for (finding const& each : all) {
    std::string grade = to_string(each.grade);
    grade.resize(9, ' ');
    text += rank + grade + each.about + std::string(width + 2 - each.about.size(), ' ') +
            each.text + '\n';
    if (!each.advice.empty()) { text += rank + std::string(9, ' ') + "  -> " + each.advice + '\n'; }
  }
  if (examines_machine) {
    text += rank + (well ? "nothing is broken\n" : "something is broken: see above\n");
  }
  out << text << std::flush;
  return well;
}

}  // namespace tool

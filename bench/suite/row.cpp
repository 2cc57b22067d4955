#include "row.hpp"

#include <algorithm>
#include <stdexcept>

namespace flotilla::bench {

namespace {

figure const& named(std::vector<figure> const& figures, std::string const& name) {
  auto const found = std::find_if(figures.begin(), figures.end(),
                                  [&](figure const& each) { return each.name == name; });
  if (found == figures.end()) { throw std::logic_error{"a row asks for no figure: " + name}; }
  return *found;
}

double value_of(figure const& from, statistic of) {
  switch (of) {
    case statistic::p50: return from.quantile(0.5);
    case statistic::p99: return from.quantile(0.99);
    case statistic::median: break;
  }
  return from.middle();
}

/// The lowest of the controls that were measured; null: none was, and `note` says why.
figure const* best_control(row const& asked, std::vector<figure> const& figures,
                           row_result& result) {
  figure const* best = nullptr;
  for (std::string const& name : asked.controls) {
    figure const& each = named(figures, name);
    if (!each.measured()) {
      // The best of fewer would be another control.
      result.note = "control " + name + ": " + each.why_not;
      return nullptr;
    }
    if (best == nullptr || value_of(each, asked.of) < value_of(*best, asked.of)) { best = &each; }
  }
  return best;
}

}  // namespace

row_result evaluate(row const& asked, std::vector<figure> const& figures, bool on_gpus) {
  row_result result;
  result.id = asked.id;
  result.control = asked.control;
  result.of = asked.of;
  result.target = asked.most_ratio ? asked.most_ratio : asked.most;
  result.target_is_ratio = asked.most_ratio.has_value();
  figure const& subject = named(figures, asked.subject);
  result.unit = subject.unit;
  if (!subject.measured()) {
    result.note = subject.why_not;
    return result;
  }
  result.note = subject.note;
  result.value = value_of(subject, asked.of);
  result.spread = subject.spread();
  if (!subject.each.empty()) {
    result.p50 = subject.quantile(0.5);
    result.p99 = subject.quantile(0.99);
    result.p999 = subject.quantile(0.999);
  }
  if (asked.constant_ns) {
    result.control_value = asked.constant_ns;
  } else if (!asked.controls.empty()) {
    figure const* const control = best_control(asked, figures, result);
    if (control != nullptr) {
      result.control_value = value_of(*control, asked.of);
      if (asked.controls.size() > 1) { result.control += " (" + control->name + ")"; }
    }
  }
  if (result.control_value && *result.control_value > 0) {
    result.ratio = *result.value / *result.control_value;
  }
  if (asked.most_ratio && asked.most) {
    // Without its control the looser of both is not known.
    result.target_is_ratio = false;
    result.target.reset();
    if (result.control_value) { result.target = std::max(*asked.most_ratio * *result.control_value, *asked.most); }
  }
  if (asked.for_gpus && !on_gpus) {
    result.judged = false;
  } else if (result.target && !result.target_is_ratio) {
    result.met = *result.value <= *result.target;
  } else if (result.target && result.ratio) {
    result.met = *result.ratio <= *result.target;
  }
  return result;
}

char const* to_string(statistic value) noexcept {
  switch (value) {
    case statistic::p50: return "p50";
    case statistic::p99: return "p99";
    case statistic::median: break;
  }
  return "median";
}

}  // namespace flotilla::bench

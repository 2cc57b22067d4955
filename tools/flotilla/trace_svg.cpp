// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_svg.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "trace_colours.hpp"
#include "trace_names.hpp"
#include "trace_report.hpp"
#include "trace_rows.hpp"

namespace tool {
namespace {

// In units of the picture, which are pixels of a viewer that does not scale it.
constexpr double label_width = 240;
constexpr double time_width = 1000;
constexpr double picture_width = label_width + time_width;
constexpr double row_height = 16;
constexpr double indent = 12;
constexpr double min_width = 0.4;  // of a slice that is drawn by itself
constexpr double character_width = 6;
constexpr std::size_t max_rows = 60;     // a picture of this height fits on a screen
constexpr std::size_t max_arrows = 300;  // more could not be told apart
constexpr std::size_t legend_columns = 4;
constexpr std::size_t bins = 500;  // of a row that sums up

class drawing {
 public:
  explicit drawing(trace_model const& trace)
      : trace_(trace), rows_(lay_out_rows(trace, max_rows)), colours_(trace) {
    for (trace_slice const& each : trace.slices) {
      first_ = std::min(first_, each.begin);
      last_ = std::max(last_, each.end);
    }
    if (trace.slices.empty()) { first_ = last_ = 0; }
    std::size_t const lines = (colours_.legend().size() + legend_columns - 1) / legend_columns;
    top_ = static_cast<double>(lines) * row_height + (lines == 0 ? 0 : row_height / 2);
  }

  std::string text() {
    std::ostringstream out;
    double const height = top_ + (static_cast<double>(rows_.rows.size()) + 3) * row_height;
    out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << picture_width << R"(" height=")"
        << height << R"(" viewBox="0 0 )" << picture_width << ' ' << height
        << R"(" font-family="sans-serif" font-size="10">)" << '\n'
        << R"(<rect width="100%" height="100%" fill="white"/>)" << '\n';
    draw_legend(out);
    draw_rows(out);
    draw_sums(out);
    draw_slices(out);
    std::string const note = draw_arrows(out);
    draw_axis(out, height, note);
    out << "</svg>\n";
    return out.str();
  }

 private:
  [[nodiscard]] double x(std::int64_t when) const {
    double const all = static_cast<double>(std::max<std::int64_t>(last_ - first_, 1));
    return label_width + static_cast<double>(when - first_) / all * time_width;
  }
  [[nodiscard]] double y(std::size_t row) const {
    return top_ + static_cast<double>(row) * row_height;
  }
  /// The top of the row of a track that has one of its own.
  [[nodiscard]] double y_of(std::uint64_t track) const { return y(rows_.of_track.at(track)); }

  void draw_legend(std::ostream& out) const {
    constexpr double column = picture_width / legend_columns;
    for (std::size_t i = 0; i < colours_.legend().size(); ++i) {
      trace_colours::entry const& each = colours_.legend()[i];
      double const left = 4 + column * static_cast<double>(i % legend_columns);
      double const top = row_height * static_cast<double>(i / legend_columns) + 3;
      std::ostringstream use;
      use << " \u00d7 " << each.tasks << ", " << std::fixed << std::setprecision(1)
          << static_cast<double>(each.time) / 1e6 << " ms";
      auto const room = static_cast<std::size_t>((column - 20) / character_width);
      std::size_t const taken = std::min(use.str().size(), room - 8);
      out << R"(<rect class="legend" x=")" << left << R"(" y=")" << top
          << R"(" width="10" height="10" fill=")" << each.colour.fill << R"("/><text x=")"
          << left + 14 << R"(" y=")" << top + 9 << R"(">)"
          << escaped(shortened(each.kernel, room - taken) + use.str()) << "</text>\n";
    }
  }

  void draw_rows(std::ostream& out) const {
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
      trace_row const& row = rows_.rows[i];
      double const left = 4 + indent * row.depth;
      if (i % 2 == 0) {
        out << R"(<rect y=")" << y(i) << R"(" width="100%" height=")" << row_height
            << R"(" fill="#f4f4f4"/>)" << '\n';
      }
      auto const room = static_cast<std::size_t>((label_width - left) / character_width);
      out << R"(<text x=")" << left << R"(" y=")" << y(i) + row_height - 5 << R"(")"
          << (row.is_sum ? R"( font-style="italic">)" : ">")
          << escaped(shortened(row.label, std::max<std::size_t>(room, 1))) << "</text>\n";
    }
  }

  /// The slices of several tracks: how many there are at each time, by colour.
  struct sum {
    std::size_t slices = 0;
    std::map<std::string, std::vector<std::int64_t>> changes{};  // by colour, for each bin

    void add(std::string const& colour, std::size_t first, std::size_t last) {
      ++slices;
      std::vector<std::int64_t>& of = changes[colour];
      of.resize(bins + 1);
      ++of[first];
      --of[last + 1];
    }
  };

  void draw_sums(std::ostream& out) const {
    std::map<std::size_t, sum> sums;  // by row
    auto const bin = [&](std::int64_t when) {
      return std::min(static_cast<std::size_t>((x(when) - label_width) / time_width * bins),
                      bins - 1);
    };
    for (trace_slice const& each : trace_.slices) {
      auto const row = rows_.of_track.find(each.track);
      if (row == rows_.of_track.end() || !rows_.rows[row->second].is_sum) { continue; }
      // The tasks of a batch are there themselves, unless few tasks were chosen.
      if (each.category == "batch" && trace_.every == 1) { continue; }
      sums[row->second].add(colours_.of(each).fill, bin(each.begin), bin(each.end));
    }
    for (auto const& [row, each] : sums) { draw_sum(out, row, each); }
  }

  /// Draws the colours one above the other.
  void draw_sum(std::ostream& out, std::size_t row, sum const& of) const {
    std::vector<std::vector<std::int64_t>> heights{std::vector<std::int64_t>(bins)};
    for (auto const& [colour, changes] : of.changes) {
      std::vector<std::int64_t> next = heights.back();
      std::int64_t now = 0;
      for (std::size_t i = 0; i < bins; ++i) { next[i] += now += changes[i]; }
      heights.push_back(std::move(next));
    }
    std::int64_t const most = *std::max_element(heights.back().begin(), heights.back().end());
    auto const height = [&](std::size_t layer, std::size_t i) {
      return y(row) + row_height - 1 -
             static_cast<double>(heights[layer][i]) / static_cast<double>(most) * (row_height - 2);
    };
    out << R"(<g class="sum"><title>)" << of.slices << " slices on " << rows_.rows[row].tracks
        << " rows, at most " << most << " of them in a " << bins << "th of the time</title>\n";
    std::size_t layer = 0;
    for (auto const& [colour, changes] : of.changes) {
      ++layer;
      out << R"(<path fill=")" << colour << R"(" d=")";
      for (std::size_t i = 0; i < bins; ++i) {
        if (heights[layer][i] == heights[layer - 1][i]) { continue; }
        double const left = label_width + time_width / bins * static_cast<double>(i);
        out << 'M' << left << ',' << height(layer, i) << 'h' << time_width / bins << 'V'
            << height(layer - 1, i) << 'h' << -time_width / bins << 'z';
      }
      out << "\"/>\n";
    }
    out << "</g>\n";
  }

  void draw_slices(std::ostream& out) const {
    std::map<std::uint64_t, double> drawn_to;  // by track
    for (trace_slice const& each : trace_.slices) {
      if (rows_.own(each.track) == nullptr) { continue; }
      double const left = x(each.begin);
      double const right = std::max(x(each.end), left + min_width);
      auto const [drawn, is_new] = drawn_to.emplace(each.track, 0);
      if (!is_new && right <= drawn->second + min_width / 2) { continue; }  // it would hide
      drawn->second = right;
      trace_colour const colour = colours_.of(each);
      double const top = y_of(each.track);
      out << R"(<rect x=")" << left << R"(" y=")" << top + 1 << R"(" width=")" << right - left
          << R"(" height=")" << row_height - 2 << R"(" fill=")" << colour.fill
          << R"(" stroke="white" stroke-width="0.3"><title>)" << escaped(title_of(each))
          << "</title></rect>\n";
      auto const fits = static_cast<std::size_t>(std::max(right - left - 4, 0.0) / character_width);
      if (fits >= 3) {
        out << R"(<text x=")" << left + 2 << R"(" y=")" << top + row_height - 5 << R"(" fill=")"
            << colour.text << R"(" pointer-events="none">)" << escaped(shortened(each.name, fits))
            << "</text>\n";
      }
    }
  }

  /// Draws the arrows between slices that are drawn; if there are too many, those of the critical
  /// path. @return what is not drawn, empty if nothing
  std::string draw_arrows(std::ostream& out) const {
    out << R"(<defs><marker id="head" markerWidth="5" markerHeight="5" refX="4" refY="2.5" )"
        << R"(orient="auto"><path d="M0,0 L5,2.5 L0,5 z" fill="#333"/></marker></defs>)" << '\n';
    std::vector<trace_arrow> arrows;
    for (trace_arrow const& each : trace_.arrows) {
      bool const is_visible = rows_.own(trace_.slices[each.from].track) != nullptr &&
                              rows_.own(trace_.slices[each.to].track) != nullptr;
      if (is_visible) { arrows.push_back(each); }
    }
    bool const too_many = arrows.size() > max_arrows;
    if (too_many) {
      std::vector<std::size_t> const path = critical_path(trace_);
      std::map<std::size_t, std::size_t> before;
      for (std::size_t i = path.size(); i-- > 1 && before.size() < max_arrows;) {
        before[path[i]] = path[i - 1];
      }
      std::erase_if(arrows, [&](trace_arrow const& each) {
        auto const found = before.find(each.to);
        return found == before.end() || found->second != each.from;
      });
    }
    for (trace_arrow const& each : arrows) { draw_arrow(out, each); }
    std::size_t const hidden = trace_.arrows.size() - arrows.size();
    if (hidden == 0) { return ""; }
    return std::to_string(hidden) + " of " + std::to_string(trace_.arrows.size()) +
           (too_many ? " arrows are not drawn: too many to tell apart; those that are drawn belong "
                       "to the critical path"
                     : " arrows are not drawn, because their tasks are in rows that are summed up");
  }

  void draw_arrow(std::ostream& out, trace_arrow const& arrow) const {
    trace_slice const& from = trace_.slices[arrow.from];
    trace_slice const& to = trace_.slices[arrow.to];
    // The successor may have been launched before the end of the predecessor was seen.
    std::int64_t const start = std::clamp(to.begin, from.begin, from.end);
    out << R"(<line x1=")" << x(start) << R"(" y1=")" << y_of(from.track) + row_height / 2
        << R"(" x2=")" << x(to.begin) << R"(" y2=")" << y_of(to.track) + row_height / 2
        << R"x(" stroke="#333" stroke-width="0.6" marker-end="url(#head)"/>)x" << '\n';
  }

  void draw_axis(std::ostream& out, double height, std::string const& note) const {
    constexpr int parts = 5;
    for (int i = 0; i <= parts; ++i) {
      std::int64_t const when = first_ + (last_ - first_) * i / parts;
      char const* const anchor = i == 0 ? "start" : i == parts ? "end" : "middle";
      out << R"(<text x=")" << x(when) << R"(" y=")" << height - row_height - 8
          << R"(" text-anchor=")" << anchor << R"(">)" << std::fixed << std::setprecision(3)
          << static_cast<double>(when) / 1e6 << " ms</text>\n";
    }
    if (note.empty()) { return; }
    out << R"(<text x=")" << label_width << R"(" y=")" << height - 6 << R"(" fill="#666">)"
        << escaped(note) << "</text>\n";
  }

  [[nodiscard]] static std::string title_of(trace_slice const& slice) {
    std::ostringstream text;
    text << slice.name << ", " << static_cast<double>(slice.length()) / 1e3 << " us";
    if (!slice.kernel.empty()) { text << ", kernel " << slice.kernel; }
    for (auto const& [name, value] : slice.values) { text << ", " << name << ' ' << value; }
    return text.str();
  }

  trace_model const& trace_;
  trace_rows rows_;
  trace_colours colours_;
  std::int64_t first_ = INT64_MAX;
  std::int64_t last_ = INT64_MIN;
  double top_ = 0;  // of the first row
};

}  // namespace

std::string picture_of(trace_model const& trace) { return drawing{trace}.text(); }

void draw_trace(trace_model const& trace, std::filesystem::path const& file) {
  std::ofstream out{file, std::ios::binary};
  out << picture_of(trace);
  out.close();
  if (!out) {
    throw std::runtime_error("the picture '" + file.string() +
                             "' cannot be written: " + std::generic_category().message(errno));
  }
}

}  // namespace tool

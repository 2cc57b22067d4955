// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_svg.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "trace_report.hpp"

namespace tool {
namespace {

// In units of the picture.
constexpr double label_width = 240;
constexpr double time_width = 1000;
constexpr double row_height = 16;
constexpr double min_width = 0.4;  // of a slice that is drawn by itself
constexpr double character_width = 6;
constexpr std::size_t max_arrows = 2000;  // more could not be told apart
constexpr std::array colours{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                             "#edc948", "#b07aa1", "#9c755f", "#ff9da7", "#bab0ac"};

std::string escaped(std::string const& text) {
  std::string made;
  for (char const each : text) {
    switch (each) {
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '&': made += "&amp;"; break;
      case '"': made += "&quot;"; break;
      default: made += static_cast<unsigned char>(each) < ' ' ? ' ' : each;
    }
  }
  return made;
}

class drawing {
 public:
  explicit drawing(trace_model const& trace) : trace_(trace) {
    for (trace_slice const& each : trace.slices) {
      first_ = std::min(first_, each.begin);
      last_ = std::max(last_, each.end);
    }
    if (trace.slices.empty()) { first_ = last_ = 0; }
    lay_out();
  }

  std::string text() {
    std::ostringstream out;
    double const height = (static_cast<double>(rows_.size()) + 2) * row_height;
    out << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )" << label_width + time_width
        << ' ' << height << R"(" font-family="sans-serif" font-size="10">)" << '\n'
        << R"(<rect width="100%" height="100%" fill="white"/>)" << '\n';
    draw_rows(out);
    draw_slices(out);
    draw_arrows(out);
    draw_axis(out, height);
    out << "</svg>\n";
    return out.str();
  }

 private:
  struct row {
    std::string label;
    int depth;
  };

  /// Gives each track with slices a row, below its parents. Tracks of one name share the label.
  void lay_out() {
    std::map<std::uint64_t, std::vector<std::uint64_t>> children;
    std::set<std::uint64_t> used;
    for (trace_slice const& each : trace_.slices) { used.insert(each.track); }
    for (auto const& [id, track] : trace_.tracks) { children[track.parent].push_back(id); }
    std::function<bool(std::uint64_t)> const is_used = [&](std::uint64_t id) {
      return used.count(id) != 0 || std::any_of(children[id].begin(), children[id].end(), is_used);
    };
    std::function<void(std::uint64_t, int)> const visit = [&](std::uint64_t parent, int depth) {
      std::string last;
      for (std::uint64_t const id : children[parent]) {
        if (!is_used(id)) { continue; }
        std::string const& name = trace_.tracks.at(id).name;
        row_of_[id] = rows_.size();
        rows_.push_back({name == last ? "" : name, depth});
        last = name;
        visit(id, depth + 1);
      }
    };
    visit(0, 0);
  }

  [[nodiscard]] double x(std::int64_t when) const {
    double const all = static_cast<double>(std::max<std::int64_t>(last_ - first_, 1));
    return label_width + static_cast<double>(when - first_) / all * time_width;
  }
  [[nodiscard]] double y(std::uint64_t track) const {
    auto const found = row_of_.find(track);
    return found == row_of_.end() ? 0 : static_cast<double>(found->second) * row_height;
  }

  void draw_rows(std::ostream& out) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      double const top = static_cast<double>(i) * row_height;
      if (i % 2 == 0) {
        out << R"(<rect y=")" << top << R"(" width="100%" height=")" << row_height
            << R"(" fill="#f4f4f4"/>)" << '\n';
      }
      out << R"(<text x=")" << 4 + 12 * rows_[i].depth << R"(" y=")" << top + row_height - 5
          << R"(">)" << escaped(rows_[i].label) << "</text>\n";
    }
  }

  void draw_slices(std::ostream& out) {
    std::map<std::uint64_t, double> drawn_to;  // by track
    for (trace_slice const& each : trace_.slices) {
      double const left = x(each.begin);
      double const right = std::max(x(each.end), left + min_width);
      auto const [drawn, is_new] = drawn_to.emplace(each.track, 0);
      if (!is_new && right <= drawn->second + min_width / 2) { continue; }  // it would hide
      drawn->second = right;
      std::string const colour = colour_of(each.name);
      out << R"(<rect x=")" << left << R"(" y=")" << y(each.track) + 1 << R"(" width=")"
          << right - left << R"(" height=")" << row_height - 2 << R"(" fill=")" << colour
          << R"(" stroke="white" stroke-width="0.3"><title>)" << escaped(title_of(each))
          << "</title></rect>\n";
      auto const fits = static_cast<std::size_t>((right - left - 4) / character_width);
      if (right - left > 4 && fits >= 3) {
        out << R"(<text x=")" << left + 2 << R"(" y=")" << y(each.track) + row_height - 5
            << R"(" fill="white" pointer-events="none">)" << escaped(each.name.substr(0, fits))
            << "</text>\n";
      }
    }
  }

  void draw_arrows(std::ostream& out) const {
    out << R"(<defs><marker id="head" markerWidth="5" markerHeight="5" refX="4" refY="2.5" )"
        << R"(orient="auto"><path d="M0,0 L5,2.5 L0,5 z" fill="#333"/></marker></defs>)" << '\n';
    for (std::size_t i = 0; i < std::min(trace_.arrows.size(), max_arrows); ++i) {
      trace_slice const& from = trace_.slices[trace_.arrows[i].from];
      trace_slice const& to = trace_.slices[trace_.arrows[i].to];
      // The successor may have been launched before the end of the predecessor was seen.
      std::int64_t const start = std::clamp(to.begin, from.begin, from.end);
      out << R"(<line x1=")" << x(start) << R"(" y1=")" << y(from.track) + row_height / 2
          << R"(" x2=")" << x(to.begin) << R"(" y2=")" << y(to.track) + row_height / 2
          << R"x(" stroke="#333" stroke-width="0.6" marker-end="url(#head)"/>)x" << '\n';
    }
    if (trace_.arrows.size() > max_arrows) {
      out << "<!-- " << trace_.arrows.size() - max_arrows << " more arrows are not drawn -->\n";
    }
  }

  void draw_axis(std::ostream& out, double height) const {
    constexpr int parts = 5;
    for (int i = 0; i <= parts; ++i) {
      std::int64_t const when = first_ + (last_ - first_) * i / parts;
      char const* const anchor = i == 0 ? "start" : i == parts ? "end" : "middle";
      out << R"(<text x=")" << x(when) << R"(" y=")" << height - 8 << R"(" text-anchor=")" << anchor
          << R"(">)" << std::fixed << std::setprecision(3) << static_cast<double>(when) / 1e6
          << " ms</text>\n";
    }
  }

  [[nodiscard]] static std::string title_of(trace_slice const& slice) {
    std::ostringstream text;
    text << slice.name << ", " << static_cast<double>(slice.length()) / 1e3 << " us";
    for (auto const& [name, value] : slice.values) { text << ", " << name << ' ' << value; }
    return text.str();
  }
  [[nodiscard]] std::string colour_of(std::string const& name) {
    return colours[colours_.emplace(name, colours_.size()).first->second % colours.size()];
  }

  trace_model const& trace_;
  std::int64_t first_ = INT64_MAX;
  std::int64_t last_ = INT64_MIN;
  std::vector<row> rows_;
  std::map<std::uint64_t, std::size_t> row_of_;  // by track
  std::map<std::string, std::size_t> colours_;   // by name
};

}  // namespace

void draw_trace(trace_model const& trace, std::filesystem::path const& file) {
  std::ofstream out{file, std::ios::binary};
  out << drawing{trace}.text();
  out.close();
  if (!out) {
    throw std::runtime_error("the picture '" + file.string() +
                             "' cannot be written: " + std::generic_category().message(errno));
  }
}

}  // namespace tool

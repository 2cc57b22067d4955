// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The picture of traces that do not exist, and what the report says of their critical path.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "trace_colours.hpp"
#include "trace_names.hpp"
#include "trace_report.hpp"
#include "trace_rows.hpp"
#include "trace_svg.hpp"

namespace tool {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

class TracePicture : public ::testing::Test {
 protected:
  std::uint64_t add_track(std::uint64_t parent, std::string name) {
    trace_.tracks[++last_track_] = {parent, std::move(name), false};
    return last_track_;
  }
  std::size_t add_task(std::uint64_t track, std::string label, std::string kernel,
                       std::int64_t begin, std::int64_t end) {
    trace_slice task;
    task.track = track;
    task.name = std::move(label);
    task.kernel = std::move(kernel);
    task.category = "task";
    task.begin = begin;
    task.end = end;
    trace_.slices.push_back(std::move(task));
    return trace_.slices.size() - 1;
  }
  /// A device with a lane of kernels, and copies that all overlap, each on a row of its own.
  void add_device(std::string const& name, int kernels, int copies) {
    std::uint64_t const device = add_track(process_, name + ": some GPU");
    std::uint64_t const lane = add_track(add_track(device, "launches 0"), "tasks");
    for (int i = 0; i < kernels; ++i) {
      add_task(lane, "image " + std::to_string(i), "blur", 1000 * i, 1000 * i + 900);
    }
    std::uint64_t const host = add_track(device, "copies to the host");
    for (int i = 0; i < copies; ++i) {
      std::size_t const copy = add_task(add_track(host, "tasks"), "image " + std::to_string(i),
                                        "copy to host", 1000 * i, 1000 * copies);
      if (i < kernels) { trace_.arrows.push_back({static_cast<std::size_t>(i), copy}); }
    }
  }
  [[nodiscard]] double height() const {
    std::smatch found;
    std::string const text = picture_of(trace_);
    EXPECT_TRUE(std::regex_search(text, found, std::regex{R"re( height="([0-9.]+)" viewBox)re"}));
    return std::atof(found[1].str().c_str());
  }
  [[nodiscard]] static std::size_t count(std::string const& text, std::string const& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++found;
    }
    return found;
  }

  trace_model trace_;

 private:
  std::uint64_t last_track_ = 0;

 protected:
  std::uint64_t process_ = add_track(0, "process program");
};

// regression: 3500 tasks made a picture of more than a thousand rows
TEST_F(TracePicture, ManyTasksFitOnAScreen) {
  add_device("device 0", 1700, 1800);
  std::string const text = picture_of(trace_);
  EXPECT_THAT(height(), Le(1100));
  EXPECT_EQ(lay_out_rows(trace_, 60).rows.size(), 60u);
  EXPECT_THAT(text, HasSubstr("1744 more</text>"));
  EXPECT_EQ(count(text, "<g class=\"sum\">"), 1u);
  EXPECT_THAT(text, HasSubstr("1744 slices on 1744 rows"));
}

// requirement: whoever has few rows keeps them, and the others share what is left
TEST_F(TracePicture, EachDeviceKeepsRows) {
  add_device("device 0", 10, 500);
  add_device("device 1", 10, 2);
  add_device("device 2", 10, 500);
  trace_rows const made = lay_out_rows(trace_, 40);
  std::vector<std::string> labels;
  for (trace_row const& each : made.rows) {
    if (!each.label.empty()) { labels.push_back(each.label); }
  }
  EXPECT_EQ(made.rows.size(), 40u);
  EXPECT_THAT(labels,
              ::testing::ElementsAre("process program", "device 0: some GPU", "launches 0",
                                     "copies to the host", "486 more", "device 1: some GPU",
                                     "launches 0", "copies to the host", "device 2: some GPU",
                                     "launches 0", "copies to the host", "485 more"));
}

// requirement: lanes are sorted by their numbers
TEST_F(TracePicture, LanesAreSorted) {
  std::uint64_t const device = add_track(process_, "device 0: some GPU");
  for (char const* const name : {"launches 10", "copies to the host", "launches 9"}) {
    add_task(add_track(add_track(device, name), "tasks"), "task", "", 0, 10);
  }
  std::vector<std::string> labels;
  for (trace_row const& each : lay_out_rows(trace_, 60).rows) { labels.push_back(each.label); }
  EXPECT_THAT(labels, ::testing::ElementsAre("process program", "device 0: some GPU", "launches 9",
                                             "launches 10", "copies to the host"));
}

// boundary: any number of rows, also fewer than there are names
TEST_F(TracePicture, TheLimitOfRowsHoldsForAnyTree) {
  add_device("device 0", 10, 30);
  for (int i = 0; i < 20; ++i) { add_device("device " + std::to_string(i + 1), 3, i); }
  for (int i = 0; i < 90; ++i) {
    add_task(add_track(process_, "thread " + std::to_string(i)), "drive", "", i, i + 1);
  }
  std::size_t const all = lay_out_rows(trace_, 10'000).rows.size();
  for (std::size_t const max : {1u, 2u, 3u, 7u, 20u, 60u, 100u, 150u, 200u, 400u}) {
    trace_rows const made = lay_out_rows(trace_, max);
    ASSERT_EQ(made.rows.size(), std::min(max, all));
    for (trace_slice const& each : trace_.slices) {
      ASSERT_LT(made.of_track.at(each.track), made.rows.size()) << "every slice has a row";
    }
    std::size_t tracks = 0;
    for (trace_row const& each : made.rows) { tracks += each.tracks; }
    ASSERT_EQ(tracks, all) << "no track is lost";
  }
}

// regression: with a label for each image, kernels could not be told apart by their colours
TEST_F(TracePicture, ColoursTellKernelsApart) {
  std::uint64_t const track = add_track(process_, "tasks");
  for (int i = 0; i < 30; ++i) {
    std::string const label = "image " + std::to_string(i);
    add_task(track, label, "blur", 100 * i, 100 * i + 50);
    add_task(track, label, "edges", 100 * i + 50, 100 * i + 60);
  }
  trace_colours const colours{trace_};
  ASSERT_EQ(colours.legend().size(), 2u);
  EXPECT_EQ(colours.legend()[0].kernel, "blur");
  EXPECT_EQ(colours.legend()[0].tasks, 30u);
  EXPECT_EQ(colours.of(trace_.slices[0]).fill, colours.of(trace_.slices[2]).fill);
  EXPECT_STRNE(colours.of(trace_.slices[0]).fill, colours.of(trace_.slices[1]).fill);
  EXPECT_THAT(picture_of(trace_), AllOf(HasSubstr("blur \u00d7 30"), HasSubstr("edges \u00d7 30")));
}

// boundary: more kernels than colours
TEST_F(TracePicture, KernelsWithShortTimesShareAColour) {
  std::uint64_t const track = add_track(process_, "tasks");
  for (int i = 0; i < 25; ++i) {
    add_task(track, "kernel" + std::to_string(i), "", 1000 * i, 1000 * i + 30 * i);
  }
  trace_colours const colours{trace_};
  ASSERT_EQ(colours.legend().size(), 10u);
  EXPECT_EQ(colours.legend()[0].kernel, "kernel24");
  EXPECT_EQ(colours.legend()[9].kernel, "16 others");
  EXPECT_EQ(colours.legend()[9].tasks, 16u);
  EXPECT_STREQ(colours.of(trace_.slices[0]).fill, colours.of(trace_.slices[15]).fill);
}

// requirement: too many arrows would hide the slices
TEST_F(TracePicture, OnlyReadableArrowsAreDrawn) {
  add_device("device 0", 20, 20);
  EXPECT_EQ(count(picture_of(trace_), "<line"), 20u);
  EXPECT_THAT(picture_of(trace_), Not(HasSubstr("not drawn")));

  std::uint64_t const track = add_track(process_, "tasks");
  std::size_t before = add_task(track, "first", "", 20'000, 20'010);
  for (int i = 1; i < 400; ++i) {
    std::size_t const next = add_task(track, "next", "", 20'000 + 100 * i, 20'010 + 100 * i);
    trace_.arrows.push_back({before, next});
    if (i >= 390) { before = next; }
  }
  std::string const text = picture_of(trace_);
  EXPECT_EQ(count(text, "<line"), 10u) << "the critical path";
  EXPECT_THAT(text, HasSubstr("409 of 419 arrows are not drawn"));
}

// requirement: arrows to rows that are summed up would end nowhere
TEST_F(TracePicture, ArrowsToSumsAreNotDrawn) {
  add_device("device 0", 200, 200);
  std::string const text = picture_of(trace_);
  EXPECT_EQ(count(text, "<line"), 56u);
  EXPECT_THAT(text, HasSubstr("144 of 200 arrows are not drawn, because their tasks are in rows"));
}

// regression: labels that differ at their ends were cut to the same text
TEST_F(TracePicture, NamesKeepTheirEnds) {
  EXPECT_EQ(shortened("image 210", 9), "image 210");
  EXPECT_EQ(shortened("image 210", 8), "im\u2026e 210");
  EXPECT_NE(shortened("image 210", 4), shortened("image 211", 4));
  EXPECT_EQ(shortened("image 210", 1), "\u2026");
  EXPECT_EQ(shortened("", 1), "");
}

// error guess: a label with letters of several bytes was cut inside a letter, and then the picture
// was no XML
TEST_F(TracePicture, NamesAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u20ac\U0001f600", 3), "\u2026\u20ac\U0001f600");
  EXPECT_EQ(shortened("a\xff\xc3", 9), "a??");
  EXPECT_EQ(shortened("\xed\xa0\x80", 9), "???") << "half of a pair of UTF-16";
  EXPECT_EQ(escaped("<a & \"b\">\n\x80"), "&lt;a &amp; &quot;b&quot;&gt; ?");
}

// boundary
TEST_F(TracePicture, ATraceWithoutTasks) {
  EXPECT_THAT(picture_of(trace_), AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
  EXPECT_THAT(height(), Le(100));
}

// requirement: the critical path says for how long no thread noticed anything before a task's end
// was seen, because the task may have ended long before
TEST_F(TracePicture, QuietTimesOfTheCriticalPath) {
  std::uint64_t const device = add_track(process_, "device 0: some GPU");
  std::uint64_t const lane = add_track(device, "tasks");
  std::uint64_t const other = add_track(add_track(process_, "device 1: another GPU"), "tasks");
  std::uint64_t const thread = add_track(process_, "thread 7");
  std::size_t const first = add_task(lane, "first", "", 1'000'000, 2'000'000);
  std::size_t const late = add_task(lane, "late", "", 2'000'000, 90'000'000);
  add_task(other, "of no interest", "", 2'000'000, 60'000'000);
  std::size_t const host =
      add_task(add_track(process_, "host tasks and bulks"), "function", "", 90'000'000, 91'000'000);
  for (std::int64_t const begin : {900'000, 1'900'000, 89'990'000}) {
    std::size_t const drive = add_task(thread, "drive device 0", "", begin, begin + 200'000);
    trace_.slices[drive].category = "drive";
  }
  trace_.arrows = {{first, late}, {late, host}};
  EXPECT_EQ(quiet_times(trace_, {first, late, host}),
            (std::vector<std::int64_t>{900'000, 87'900'000, -1}));
  std::ostringstream out;
  print_report(out, trace_, "file", 10);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("90.000       88.000    87.900    device 0  late"),
                               HasSubstr("91.000       1.000     -         host      function"),
                               HasSubstr("had ended and no thread looked")));
}

}  // namespace
}  // namespace tool

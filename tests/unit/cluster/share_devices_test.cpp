// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/cluster/share_devices.hpp>

#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <vector>

#include <flotilla/error/error.hpp>
#include <flotilla/error/log.hpp>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using gpus = std::vector<std::string>;

/// The devices of all ranks, and what was logged.
struct ShareDevices : testing::Test {
  struct line {
    flotilla::log_level level;
    std::string text;
  };
  std::vector<line> log;

  ShareDevices() {
    flotilla::set_log_level(flotilla::log_level::info);
    flotilla::set_log_handler([this](flotilla::log_message const& each) {
      log.push_back({each.level, std::string{each.text}});
    });
  }
  ~ShareDevices() override {
    flotilla::set_log_handler({});
    flotilla::set_log_level(flotilla::log_level::warning);
  }
  static std::vector<std::string> shares(std::vector<gpus> const& seen) {
    std::vector<std::string> made;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      made.push_back(flotilla::share_devices(seen, static_cast<int>(i)));
    }
    return made;
  }
};

// requirement: ranks that see the same GPUs get them in turn, and one line says so
TEST_F(ShareDevices, RanksGetThemInTurn) {
  gpus const four{"a", "b", "c", "d"};
  EXPECT_THAT(shares({four, four}), ElementsAre("cuda:0,2", "cuda:1,3"));
  EXPECT_THAT(shares({four, four, four, four}),
              ElementsAre("cuda:0", "cuda:1", "cuda:2", "cuda:3"));
  EXPECT_THAT(shares({four, four, four}), ElementsAre("cuda:0,3", "cuda:1", "cuda:2"));
  ASSERT_EQ(log.size(), 3U);
  EXPECT_EQ(log[0].level, flotilla::log_level::info);
  EXPECT_THAT(log[0].text, HasSubstr("0 has cuda:0,2; 1 has cuda:1,3."));
}

// requirement: with more ranks than GPUs, each GPU has about the same number of ranks
TEST_F(ShareDevices, RanksShareAGpu) {
  gpus const two{"a", "b"};
  EXPECT_THAT(shares({two, two, two, two, two}),
              ElementsAre("cuda:0", "cuda:1", "cuda:0", "cuda:1", "cuda:0"));
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].level, flotilla::log_level::warning);
  EXPECT_THAT(log[0].text, HasSubstr("take turns"));
}

// requirement: a rank keeps what only it sees, whatever its number is in the other processes
TEST_F(ShareDevices, RanksKeepTheirOwn) {
  EXPECT_THAT(shares({{"a", "b"}, {"c", "d"}}), ElementsAre("cuda:0,1", "cuda:0,1"));
  EXPECT_THAT(log, IsEmpty());
  // The first rank sees both, the second one only one of them, which it calls 0.
  EXPECT_THAT(shares({{"a", "b"}, {"b"}}), ElementsAre("cuda:0", "cuda:0"));
  // The same GPUs in another order.
  EXPECT_THAT(shares({{"a", "b"}, {"b", "a"}}), ElementsAre("cuda:0", "cuda:0"));
}

// requirement: a rank alone has all its GPUs, and one without GPUs has the default
TEST_F(ShareDevices, OthersHaveTheDefault) {
  EXPECT_THAT(shares({{"a", "b", "c"}}), ElementsAre("cuda:0,1,2"));
  EXPECT_THAT(shares({{}, {}}), ElementsAre("", ""));
  EXPECT_THAT(shares({{"a"}, {}}), ElementsAre("cuda:0", ""));
  EXPECT_THAT(log, IsEmpty());
}

// requirement: a wrong rank is named
TEST_F(ShareDevices, AWrongRankIsRefused) {
  try {
    static_cast<void>(flotilla::share_devices({{"a"}}, 1));
    ADD_FAILURE();
  } catch (flotilla::invalid_argument const& why) {
    EXPECT_THAT(why.what(), HasSubstr("local rank is 1"));
  }
  EXPECT_THROW(static_cast<void>(flotilla::share_devices({{"a"}}, -1)), flotilla::invalid_argument);
}

}  // namespace

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The last error of a thread, and the names of statuses.

#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include <flotilla/error/error.hpp>

#include "c_api/c_fixture.hpp"
#include "c_api/last_error.hpp"

namespace flotilla::test {
namespace {

class CErrors : public c_api_test {};
FLOTILLA_C_API(CErrors);

// requirement: the errors of flows over ranks name the rank, also as the cause of another error
TEST_P(CErrors, FailuresOfRanksNameTheirRank) {
  auto const remote = std::make_exception_ptr(remote_error(3, "rank 3: no"));
  flotilla_error_details found = c_api::describe(remote).details;
  EXPECT_EQ(found.status, FLOTILLA_REMOTE_ERROR);
  EXPECT_EQ(found.code, 3);
  found = c_api::describe(std::make_exception_ptr(dependency_failed("behind", remote))).details;
  EXPECT_EQ(found.first_cause, FLOTILLA_REMOTE_ERROR);
  EXPECT_EQ(found.code, 3);
  found = c_api::describe(std::make_exception_ptr(rank_failed(2, "rank 2 has ended"))).details;
  EXPECT_EQ(found.status, FLOTILLA_RANK_FAILED);
  EXPECT_EQ(found.code, 2);
}

// requirement: every status has its name, and other numbers have a text too
TEST_P(CErrors, StatusesHaveNames) {
  EXPECT_STREQ(flotilla_status_name(FLOTILLA_SUCCESS), "FLOTILLA_SUCCESS");
  EXPECT_STREQ(flotilla_status_name(FLOTILLA_BAD_IMAGE), "FLOTILLA_BAD_IMAGE");
  EXPECT_STREQ(flotilla_status_name(FLOTILLA_OTHER_ERROR), "FLOTILLA_OTHER_ERROR");
  std::set<std::string> names;
  for (int i = FLOTILLA_SUCCESS; i <= FLOTILLA_RANK_FAILED; ++i) {
    names.insert(flotilla_status_name(static_cast<flotilla_status>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(FLOTILLA_RANK_FAILED) + 1);
  EXPECT_NE(flotilla_status_name(static_cast<flotilla_status>(31)), nullptr);
}

// requirement: before its first failure, a thread has no error
TEST_P(CErrors, ThreadBeginsWithoutError) {
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_wait_idle({}));
  std::jthread{[] {
    EXPECT_STREQ(flotilla_last_error(), "");
    EXPECT_EQ(last_details().status, FLOTILLA_SUCCESS);
    EXPECT_EQ(last_details().cause, FLOTILLA_SUCCESS);
    EXPECT_EQ(last_details().item, 0u);
  }}.join();
}

// requirement: each thread has its own last error
TEST_P(CErrors, ErrorsArePerThread) {
  flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "17", flotilla_get_device(rt, 17, &info));
  std::string const mine = flotilla_last_error();
  std::jthread{[&] {
    FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "18", flotilla_get_device(rt, 18, &info));
    EXPECT_NE(flotilla_last_error(), mine);
  }}.join();
  EXPECT_EQ(flotilla_last_error(), mine);
  EXPECT_EQ(last_details().status, FLOTILLA_UNKNOWN_DEVICE);
}

// requirement: a successful call keeps the last error
TEST_P(CErrors, SuccessKeepsTheLastError) {
  flotilla_kernel found{};
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_SYMBOL, "wirte",
                   flotilla_program_kernel(program, "wirte", &found));
  char const* const text = flotilla_last_error();
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  FLOTILLA_C_OK(flotilla_program_kernel(program, "nothing", &found));
  EXPECT_EQ(flotilla_last_error(), text) << "it is the same text";
  EXPECT_THAT(text, HasSubstr("wirte"));
  EXPECT_EQ(last_details().status, FLOTILLA_UNKNOWN_SYMBOL);
}

// requirement: the next failure replaces all details of the one before
TEST_P(CErrors, NextFailureReplacesTheDetails) {
  flotilla_ticket const failed = failing();
  FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "7", flotilla_ticket_wait(failed));
  EXPECT_EQ(last_details().code, 7);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "'count'", flotilla_device_count(rt, nullptr));
  flotilla_error_details const now = last_details();
  EXPECT_EQ(now.code, 0);
  EXPECT_EQ(now.driver_status, 0);
  EXPECT_EQ(now.cause, FLOTILLA_SUCCESS);
  EXPECT_EQ(now.item, 0u);
  EXPECT_EQ(now.size, sizeof now);
  FLOTILLA_C_OK(flotilla_ticket_release(failed));
}

// requirement: a task behind one that has failed has the code of the first cause, at any distance
TEST_P(CErrors, DetailsHaveTheFirstCause) {
  flotilla_ticket const failed = failing();
  flotilla_ticket behind[2]{};
  for (int i = 0; i < 2; ++i) {
    flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
    flotilla_ticket const& ahead = i == 0 ? failed : behind[0];
    options.after = &ahead;
    options.after_count = 1;
    FLOTILLA_C_OK(flotilla_submit_launch(kernel("nothing"), flotilla_over(1, 1), nullptr, 0,
                                         &options, &behind[i]));
  }
  for (flotilla_ticket const each : behind) {
    FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "7", flotilla_ticket_wait(each));
    EXPECT_EQ(last_details().first_cause, FLOTILLA_TASK_FAILED);
    EXPECT_EQ(last_details().code, 7);
  }
  EXPECT_EQ(last_details().cause, FLOTILLA_DEPENDENCY_FAILED);
  for (flotilla_ticket const each : {failed, behind[0], behind[1]}) {
    FLOTILLA_C_OK(flotilla_ticket_release(each));
  }
}

// requirement: the text names the function and the parameter
TEST_P(CErrors, TextNamesTheOffender) {
  unsigned count = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_device_count",
                   flotilla_device_count(rt, nullptr));
  EXPECT_THAT(flotilla_last_error(), HasSubstr("count"));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "flotilla_device_count",
                   flotilla_device_count({}, &count));
  EXPECT_THAT(flotilla_last_error(), HasSubstr("runtime"));
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.size = 3;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_task_options",
                   flotilla_submit_launch(kernel("nothing"), flotilla_over(1, 1), nullptr, 0,
                                          &options, nullptr));
  EXPECT_THAT(flotilla_last_error(), AllOf(HasSubstr("3"), HasSubstr("size")));
}

// requirement: details without memory or with a size that is too small
TEST_P(CErrors, DetailsNeedTheirSize) {
  EXPECT_EQ(flotilla_last_error_details(nullptr), FLOTILLA_INVALID_ARGUMENT);
  for (std::size_t const size : {std::size_t{0}, sizeof(std::size_t)}) {
    flotilla_error_details details = FLOTILLA_ERROR_DETAILS_INIT;
    details.size = size;
    details.code = 55;
    EXPECT_EQ(flotilla_last_error_details(&details), FLOTILLA_INVALID_ARGUMENT);
    EXPECT_EQ(details.code, 55);
  }
}

}  // namespace
}  // namespace flotilla::test

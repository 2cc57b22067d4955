// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/channel/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>

#include "isolation/channel/message.hpp"
#include "isolation/channel/sealed_memory.hpp"

namespace flotilla::isolated {
namespace {

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest()
      : file_(make_sealed_memory("test", sizeof(channel))), memory_(file_, sizeof(channel)) {}

  channel& one() { return *reinterpret_cast<channel*>(memory_.data()); }
  /// Answers `count` requests with their own bytes.
  void serve(int count) {
    channel_server end{one()};
    for (int i = 0; i < count; ++i) {
      auto const request = end.wait();
      std::memcpy(end.room().data(), request.data(), request.size());
      end.answer(i, request.size());
    }
  }
  bool call(channel_caller& end, std::uint64_t value, std::int32_t& status, std::uint64_t& back) {
    std::memcpy(end.room().data(), &value, sizeof value);
    std::array<std::byte, 64> answer{};
    std::size_t used = 0;
    bool const ok = end.call(sizeof value, lost_, answer, status, used);
    std::memcpy(&back, answer.data(), sizeof back);
    return ok && used == sizeof value;
  }

  descriptor file_;
  mapping memory_;
  std::atomic<int> lost_{0};
};

// requirement
TEST_F(ChannelTest, EveryAnswerBelongsToItsRequest) {
  constexpr int count = 20000;
  std::thread server{[this] { serve(count); }};
  channel_caller end{one()};
  for (int i = 0; i < count; ++i) {
    std::int32_t status = -1;
    std::uint64_t back = 0;
    ASSERT_TRUE(call(end, static_cast<std::uint64_t>(i) * 7, status, back));
    ASSERT_EQ(status, i);
    ASSERT_EQ(back, static_cast<std::uint64_t>(i) * 7);
  }
  server.join();
}

// boundary: both ends sleep before the other one writes
TEST_F(ChannelTest, EndsThatSleepAreWoken) {
  std::thread server{[this] {
    channel_server end{one()};
    for (int i = 0; i < 5; ++i) {
      static_cast<void>(end.wait());
      // Fixed time: the caller must go from polling to sleep.
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      end.answer(0, 8);
    }
  }};
  channel_caller end{one()};
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // the server must sleep
    std::int32_t status = -1;
    std::uint64_t back = 0;
    ASSERT_TRUE(call(end, 1, status, back));
  }
  server.join();
}

// requirement
TEST_F(ChannelTest, ALostWorkerEndsTheCall) {
  std::thread killer{[this] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    lost_ = 719;
  }};
  channel_caller end{one()};
  std::int32_t status = 0;
  std::uint64_t back = 0;
  EXPECT_FALSE(call(end, 1, status, back));
  killer.join();
}

// error guess: a worker that writes anything into the channel must not harm its owner
TEST_F(ChannelTest, AnAnswerThatIsTooLongIsRefused) {
  for (std::uint32_t const bytes : {65u, 16385u, 0x7fffffffu, 0xffffffffu}) {
    std::thread server{[&, this] {
      while (one().requested.load() == one().answered.load()) { std::this_thread::yield(); }
      one().answer_bytes = bytes;
      one().answered.store(one().requested.load());
    }};
    channel_caller end{one()};
    std::int32_t status = 0;
    std::uint64_t back = 0;
    EXPECT_FALSE(call(end, 1, status, back)) << bytes;
    server.join();
  }
}

// error guess: see above; the whole channel is overwritten all the time
TEST_F(ChannelTest, GarbageInTheSharedMemoryHarmsNobody) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread that writes garbage stands for another process, so it races";
#endif
  std::atomic<bool> stop{false};
  channel_caller end{one()};
  std::atomic<std::uint32_t> expected{0};  // the number of the next request
  std::thread scribbler{[&, this] {
    std::mt19937 random{42};
    auto* const words = reinterpret_cast<std::uint32_t volatile*>(memory_.data());
    while (!stop) { words[random() % (sizeof(channel) / 4)] = random(); }
  }};
  std::thread liar{[&, this] {
    std::mt19937 random{7};
    while (!stop) {
      one().answer_bytes = random() % 2 == 0 ? random() : random() % 64;
      one().answered.store(expected.load());
      std::this_thread::yield();
    }
  }};
  for (int i = 0; i < 300; ++i) {
    ++expected;
    std::int32_t status = 0;
    std::uint64_t back = 0;
    std::array<std::byte, 64> answer{};
    std::size_t used = 0;
    if (end.call(8, lost_, answer, status, used)) { EXPECT_LE(used, answer.size()); }
    message_reader reader{std::span{answer}.first(std::min(used, answer.size()))};
    back += reader.text().size();
  }
  stop = true;
  scribbler.join();
  liar.join();
}

// boundary
TEST(MessageTest, NothingIsReadOrWrittenBeyondTheEnd) {
  std::array<std::byte, 10> room{};
  message_writer writer{room};
  writer.put(std::uint64_t{1});
  EXPECT_TRUE(writer.ok());
  writer.put(std::uint32_t{1});
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(writer.size(), 8u);
  std::uint32_t const huge = 0xffffffff;
  message_reader reader{std::as_bytes(std::span{&huge, 1})};
  EXPECT_EQ(reader.text(), "");
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.get<std::uint64_t>(), 0u);
}

// requirement
TEST(SealedMemoryTest, NobodyCanChangeItsSize) {
  descriptor const made = make_sealed_memory("test", 8192);
  ASSERT_TRUE(made.valid());
  EXPECT_TRUE(is_sealed_memory(made.get(), 8192));
  EXPECT_FALSE(is_sealed_memory(made.get(), 4096));
  EXPECT_NE(::ftruncate(made.get(), 0), 0);
  EXPECT_NE(::ftruncate(made.get(), 16384), 0);
  EXPECT_NE(::fcntl(made.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

}  // namespace
}  // namespace flotilla::isolated

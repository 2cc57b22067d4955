// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the explorer itself, with the usual small programs for memory models: it must find all
// results that C++ permits, and no others.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>

#include "memory_order/explorer.hpp"

namespace flotilla::test::memory_order {
namespace {

using order = std::memory_order;
constexpr order rlx = order::relaxed, acq = order::acquire, rel = order::release,
                sc = order::seq_cst;

struct words {
  std::atomic<int> x{0}, y{0}, z{0};
  int plain = 0;
  int a = -1, b = -1, c = -1, d = -1;
};
using body = std::function<void(words&)>;

/// Returns all results (a, b, c, d) of the threads, as texts.
std::set<std::string> results(std::vector<body> const& threads, std::string* wrong = nullptr) {
  std::set<std::string> seen;
  exploration const found = explore([&](execution& one) {
    auto const all = std::make_shared<words>();
    for (body const& each : threads) {
      one.thread([all, &each] { each(*all); });
    }
    one.at_end([all, &seen] {
      std::string text;
      for (int const each : {all->a, all->b, all->c, all->d}) {
        if (each >= 0) { text += static_cast<char>('0' + each); }
      }
      seen.insert(text);
    });
  });
  EXPECT_TRUE(found.complete);
  if (wrong != nullptr) {
    *wrong = found.wrong;
  } else {
    EXPECT_EQ(found.wrong, "") << found.how;
  }
  return seen;
}

using texts = std::set<std::string>;

// requirement: a release store and an acquire load order what is before and after them
TEST(Litmus, MessagePassing) {
  auto const run = [](order how, order see) {
    return results({[=](words& w) {
                      w.x.store(1, rlx);
                      w.y.store(1, how);
                    },
                    [=](words& w) {
                      w.a = w.y.load(see);
                      w.b = w.x.load(rlx);
                    }});
  };
  EXPECT_EQ(run(rel, acq), (texts{"00", "01", "11"}));
  EXPECT_EQ(run(rlx, acq), (texts{"00", "01", "10", "11"}));
  EXPECT_EQ(run(rel, rlx), (texts{"00", "01", "10", "11"}));
}

TEST(Litmus, MessagePassingWithFences) {
  auto const run = [](order how, order see) {
    return results({[=](words& w) {
                      w.x.store(1, rlx);
                      std::atomic_thread_fence(how);
                      w.y.store(1, rlx);
                    },
                    [=](words& w) {
                      w.a = w.y.load(rlx);
                      std::atomic_thread_fence(see);
                      w.b = w.x.load(rlx);
                    }});
  };
  EXPECT_EQ(run(rel, acq), (texts{"00", "01", "11"}));
  EXPECT_EQ(run(sc, sc), (texts{"00", "01", "11"}));
  EXPECT_EQ(run(acq, acq), (texts{"00", "01", "10", "11"}));
  EXPECT_EQ(run(rel, rel), (texts{"00", "01", "10", "11"}));
}

TEST(Litmus, StoreBuffering) {
  auto const run = [](order how, bool fence) {
    return results({[=](words& w) {
                      w.x.store(1, how);
                      if (fence) { std::atomic_thread_fence(sc); }
                      w.a = w.y.load(how == rel ? acq : how);
                    },
                    [=](words& w) {
                      w.y.store(1, how);
                      if (fence) { std::atomic_thread_fence(sc); }
                      w.b = w.x.load(how == rel ? acq : how);
                    }});
  };
  EXPECT_EQ(run(sc, false), (texts{"01", "10", "11"}));
  EXPECT_EQ(run(rel, false), (texts{"00", "01", "10", "11"}));
  EXPECT_EQ(run(rlx, true), (texts{"01", "10", "11"}));
}

// The explorer leaves this out: C++ permits 11, but neither compilers nor the code rely on it.
TEST(Litmus, LoadBufferingIsLeftOut) {
  EXPECT_EQ(results({[](words& w) {
                       w.a = w.x.load(rlx);
                       w.y.store(1, rlx);
                     },
                     [](words& w) {
                       w.b = w.y.load(rlx);
                       w.x.store(1, rlx);
                     }}),
            (texts{"00", "01", "10"}));
}

TEST(Litmus, IndependentReadsOfIndependentWrites) {
  auto const run = [](order how, order see) {
    return results({[=](words& w) { w.x.store(1, how); }, [=](words& w) { w.y.store(1, how); },
                    [=](words& w) {
                      w.a = w.x.load(see);
                      w.b = w.y.load(see);
                    },
                    [=](words& w) {
                      w.c = w.y.load(see);
                      w.d = w.x.load(see);
                    }})
        .contains("1010");
  };
  EXPECT_TRUE(run(rlx, rlx));
  EXPECT_TRUE(run(rel, acq));
  EXPECT_FALSE(run(sc, sc));
}

TEST(Litmus, LoadsOfOneWordAreCoherent) {
  texts const seen = results({[](words& w) {
                                w.x.store(1, rlx);
                                w.x.store(2, rlx);
                              },
                              [](words& w) {
                                w.a = w.x.load(rlx);
                                w.b = w.x.load(rlx);
                              }});
  EXPECT_EQ(seen, (texts{"00", "01", "02", "11", "12", "22"}));
}

TEST(Litmus, TwoPlusTwoWrites) {
  auto const run = [](order how) {
    texts seen;
    EXPECT_EQ(explore([&](execution& one) {
                auto const w = std::make_shared<words>();
                one.thread([=] {
                  w->x.store(1, how);
                  w->y.store(2, how);
                });
                one.thread([=] {
                  w->y.store(1, how);
                  w->x.store(2, how);
                });
                one.at_end([w, &seen] { seen.insert(std::to_string(w->x * 10 + w->y)); });
              }).wrong,
              "");
    return seen;
  };
  EXPECT_EQ(run(rlx), (texts{"11", "12", "21", "22"}));
  EXPECT_EQ(run(sc), (texts{"12", "21", "22"}));
}

// A read-modify-write continues a release sequence; a store of another thread, or in C++20 of the
// same thread, does not.
TEST(Litmus, ReleaseSequences) {
  auto const run = [](bool exchange) {
    return results({[](words& w) {
                      w.x.store(1, rlx);
                      w.y.store(1, rel);
                    },
                    [=](words& w) {
                      if (exchange) {
                        w.y.fetch_add(1, rlx);
                      } else if (w.y.load(rlx) == 1) {
                        w.y.store(2, rlx);
                      }
                    },
                    [](words& w) {
                      w.a = w.y.load(acq);
                      w.b = w.x.load(rlx);
                    }})
        .contains("20");
  };
  EXPECT_FALSE(run(true));
  EXPECT_TRUE(run(false));
}

TEST(Litmus, ReadModifyWritesAreAtomic) {
  EXPECT_EQ(
      results({[](words& w) { w.a = w.x.fetch_add(1, rlx); },
               [](words& w) { w.b = w.x.fetch_add(1, rlx); }, [](words& w) { w.x.store(5, rlx); }})
          .count("00"),
      0u);
  EXPECT_EQ(results({[](words& w) {
                       int expected = 0;
                       w.a = w.x.compare_exchange_strong(expected, 1, rlx) ? 1 : 0;
                     },
                     [](words& w) {
                       int expected = 0;
                       w.b = w.x.compare_exchange_strong(expected, 1, rlx) ? 1 : 0;
                     }}),
            (texts{"01", "10"}));
}

// A seq_cst operation and a fence of another thread order what is around the fence (C++20
// [atomics.order]).
TEST(Litmus, SequentialOperationsAndFences) {
  auto const run = [](order how) {
    return results({[=](words& w) {
                      w.x.store(1, how);
                      w.a = w.y.load(how);
                    },
                    [](words& w) {
                      w.y.store(1, rlx);
                      std::atomic_thread_fence(sc);
                      w.b = w.x.load(rlx);
                    }})
        .contains("00");
  };
  EXPECT_FALSE(run(sc));
  EXPECT_TRUE(run(rlx));
}

TEST(Litmus, DataRaces) {
  auto const run = [](order how, order see) {
    std::string wrong;
    results({[=](words& w) {
               w.plain = 1;
               w.x.store(1, how);
             },
             [=](words& w) {
               if (w.x.load(see) == 1) { w.plain = 2; }
             }},
            &wrong);
    return wrong;
  };
  EXPECT_EQ(run(rel, acq), "");
  EXPECT_EQ(run(rlx, acq), "data race");
  EXPECT_EQ(run(rel, rlx), "data race");
}

// What comes after a release store is not ordered by it.
TEST(Litmus, DataRacesAfterARelease) {
  for (bool const fence : {false, true}) {
    std::string wrong;
    results({[=](words& w) {
               if (fence) { std::atomic_thread_fence(rel); }
               if (fence) { w.plain = 1; }
               w.x.store(1, fence ? rlx : rel);
               w.plain = 2;
             },
             [](words& w) {
               if (w.x.load(acq) == 1) { w.a = w.plain; }
             }},
            &wrong);
    EXPECT_EQ(wrong, "data race");
  }
}

}  // namespace
}  // namespace flotilla::test::memory_order

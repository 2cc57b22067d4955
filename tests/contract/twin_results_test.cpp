// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A task that runs in a grid of its kernel's twin computes the same as a task with a launch of its
// own.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "difficult_kernels.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"

namespace flotilla::test {
namespace {

// The parameter types of difficult_kernels.cu.
struct padded {
  char a;
  double b;
  short c;
};
struct alignas(16) wide {
  float of[4];
};
struct table {
  int of[16];
};
struct alignas(16) vector4 {
  float of[4];
};
struct alignas(8) vector2 {
  int of[2];
};

// More than two templates hold.
constexpr unsigned launches = 150;
// 4-byte words of memory for the results of one launch: 12 words for each of 192 threads.
constexpr std::size_t words_each = 12 * 192;

struct outcome {
  std::vector<std::uint32_t> words;
  std::uint64_t batches = 0;
  bool operator==(outcome const& other) const { return words == other.words; }
};

class TwinResults : public guest_test {
 protected:
  using maker = std::function<launch(program const&, unsigned i, std::uint32_t* out)>;

  static std::vector<std::uint32_t> initial() {
    std::vector<std::uint32_t> words(launches * words_each);
    for (std::size_t i = 0; i < words.size(); ++i) { words[i] = static_cast<std::uint32_t>(i % 9); }
    return words;
  }

  /// Runs each launch at least six times, so that the runtime has measured the kernel, and until
  /// all launches need at most `most` batches: a busy machine can measure a kernel as long for a
  /// while. Returns the results of the last run.
  static outcome run(bool fuse, maker const& make,
                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    runtime rt{{.devices = device_spec(1), .workers = 0, .fuse_launches = fuse}};
    program const loaded = rt.load(difficult_kernels);
    device_buffer<std::uint32_t> out{rt, device_ordinal{0}, launches * words_each};
    std::vector<std::uint32_t> const first = initial();
    outcome result;
    auto const end = std::chrono::steady_clock::now() + test_timeout;
    for (int repeat = 0;
         repeat < 6 || (result.batches > most && std::chrono::steady_clock::now() < end);
         ++repeat) {
      rt.submit(out.copy_from(first)).wait();
      std::uint64_t const before = rt.counters(device_ordinal{0}).batches;
      for (unsigned i = 0; i < launches; ++i) {
        rt.post(make(loaded, i, out.data() + i * words_each));
      }
      rt.wait_idle();
      result.batches = rt.counters(device_ordinal{0}).batches - before;
    }
    result.words.resize(out.size());
    rt.submit(out.copy_to(result.words)).wait();
    return result;
  }

  static void compare(maker const& make, bool has_twin = true) {
    outcome const alone = run(false, make);
    EXPECT_FALSE(alone.words == initial()) << "the kernels wrote nothing";
    if (has_twin) {
      outcome const fused = run(true, make, 2);
      EXPECT_TRUE(alone == fused);
      EXPECT_LE(fused.batches, 2u) << "the launches were not one grid";
    } else {
      outcome const fused = run(true, make);
      EXPECT_TRUE(alone == fused);
      EXPECT_GT(fused.batches, 2u) << "a kernel without a twin was launched as one grid";
    }
  }

  /// Grids of one to three dimensions with at most six blocks.
  static extent grid_of(unsigned i) {
    switch (i % 4) {
      case 0: return {1};
      case 1: return {i % 5 + 1};
      case 2: return {2, 3};
      default: return {1, 2, 3};
    }
  }
};

template <class T>
T* as(std::uint32_t* words) {
  return reinterpret_cast<T*>(words);
}

// Memory of a launch that the kernel reads. No launch writes there.
template <class T>
T* input(std::uint32_t* words) {
  return reinterpret_cast<T*>(words + words_each / 2);
}

TEST_F(TwinResults, AllIndices) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<unsigned*>("all_indices").with_shape(grid_of(i), {4, 2, 3})(out);
  });
}

TEST_F(TwinResults, OnlyOneIndex) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int*, int>("only_y").with_shape(grid_of(i), {3})(as<int>(out),
                                                                          static_cast<int>(i));
  });
}

TEST_F(TwinResults, StaticAndDynamicSharedMemory) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int const*, int*>("static_and_dynamic_shared")
        .with_shape(grid_of(i), {64}, 64 * sizeof(int))(input<int>(out), as<int>(out));
  });
}

TEST_F(TwinResults, Shuffles) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int const*, int*>("warp_sums")
        .with_shape(grid_of(i), {64})(input<int>(out), as<int>(out));
  });
}

TEST_F(TwinResults, EarlyReturn) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int*, unsigned>("early_return")
        .with_shape(grid_of(i), {40})(as<int>(out), 5 * i + 1);
  });
}

TEST_F(TwinResults, LaunchBounds) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<float*, float>("bounded").with_shape(grid_of(i), {128})(
        as<float>(out), static_cast<float>(i) + 0.5F);
  });
}

TEST_F(TwinResults, Templates) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<double*, double, int>("from_template")
        .with_shape(grid_of(i), {33})(as<double>(out), 1.0 + i / 100.0, static_cast<int>(i % 9));
  });
}

TEST_F(TwinResults, PaddedParameters) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    auto const n = static_cast<char>(i);
    return loaded
        .kernel<char, padded, short, float, char, wide, unsigned char, double*>("padded_parameters")
        .with_shape(grid_of(i), {7})(n, padded{1, i * 0.5, 3}, short{4}, 5.0F, char{6},
                                     wide{{7, 8, 9, static_cast<float>(i)}},
                                     static_cast<unsigned char>(200), as<double>(out));
  });
}

TEST_F(TwinResults, VectorParameters) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    auto const x = static_cast<float>(i);
    return loaded.kernel<char, vector4, vector2, vector4*>("vector_parameters")
        .with_shape(grid_of(i), {5})(char{1}, vector4{{x, 2 * x, 3, 4}},
                                     vector2{{static_cast<int>(i), -7}}, as<vector4>(out));
  });
}

TEST_F(TwinResults, ConstantMemory) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int, int*>("variables")
        .with_shape(grid_of(i), {3})(static_cast<int>(i), as<int>(out));
  });
}

TEST_F(TwinResults, FunctionCalls) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<padded, int, int*>("calls_function")
        .with_shape(grid_of(i), {9})(padded{1, i * 2.0, 3}, static_cast<int>(i), as<int>(out));
  });
}

TEST_F(TwinResults, Switches) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int const*, int*>("switches")
        .with_shape(grid_of(i), {16})(input<int>(out), as<int>(out));
  });
}

TEST_F(TwinResults, ParametersThatAreIndexed) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    table numbers;
    for (int k = 0; k < 16; ++k) { numbers.of[k] = static_cast<int>(i) * 100 + k; }
    return loaded.kernel<table, int*>("indexes_parameter")
        .with_shape(grid_of(i), {32})(numbers, as<int>(out));
  });
}

TEST_F(TwinResults, MallocAndAssert) {
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int, int*>("asserts_and_allocates")
        .with_shape(grid_of(i), {32})(static_cast<int>(i), as<int>(out));
  });
}

TEST_F(TwinResults, Printf) {
  ::testing::internal::CaptureStdout();
  compare([](program const& loaded, unsigned i, std::uint32_t* out) {
    return loaded.kernel<int, int*>("prints").with_shape(grid_of(i), {2})(static_cast<int>(i),
                                                                          as<int>(out));
  });
  std::string const text = ::testing::internal::GetCapturedStdout();
  auto const lines = [&](unsigned i) {
    extent const grid = grid_of(i);
    std::string const line = "prints " + std::to_string(i) + " of " + std::to_string(grid.x) + '\n';
    std::size_t count = 0;
    for (auto at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) {
      ++count;
    }
    return count;
  };
  std::size_t const repeats = lines(0);
  EXPECT_GE(repeats, 1u);
  // A GPU drops lines if too many are printed before the driver reads them.
  if (on_gpus()) { return; }
  for (unsigned i = 0; i < launches; ++i) { EXPECT_EQ(lines(i), repeats) << i; }
}

TEST_F(TwinResults, KernelsWithoutTwin) {
  compare(
      [](program const& loaded, unsigned i, std::uint32_t* out) {
        return loaded.kernel<int, int*>("unwanted")
            .with_shape(grid_of(i), {2})(static_cast<int>(i), as<int>(out));
      },
      false);
}

// The twin and the kernel use the same variables.
TEST_F(TwinResults, VariablesAreShared) {
  runtime rt{{.devices = device_spec(1), .workers = 0, .fuse_launches = true}};
  program const loaded = rt.load(difficult_kernels);
  auto const count = loaded.kernel<>("no_parameters");
  unsigned expected = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    for (unsigned i = 1; i <= 20; ++i) {
      rt.post(count.with_shape({i}, {1})());
      expected += i;
    }
    rt.wait_idle();
  }
  unsigned seen = 0;
  loaded.read_global(device_ordinal{0}, "launches_seen",
                     std::as_writable_bytes(std::span{&seen, 1}));
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace flotilla::test

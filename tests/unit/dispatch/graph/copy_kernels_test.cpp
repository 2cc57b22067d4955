// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The PTX of the kernels that copy and fill: an interpreter runs it for every alignment, and ptxas
// assembles it for every architecture.

#include "dispatch/graph/copy_kernels.hpp"

#include <gtest/gtest.h>
#include <flotilla/detail/kernel_twin.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "make_twins/add_twins.hpp"
#include "unit/dispatch/graph/ptx_interpreter.hpp"

namespace flotilla::test {
namespace {

namespace kernels = dispatch::copy_kernels;
using detail::memory_command;
using bytes = std::vector<std::byte>;

std::string const head = "\n.version 7.0\n.target sm_70\n.address_size 64\n";
std::string all_kernels() {
  return head + kernels::copy_ptx() + kernels::copy_twin_ptx() + kernels::fill_ptx() +
         kernels::fill_twin_ptx();
}

bytes pattern(std::size_t size, unsigned seed) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) {
    made[i] = std::byte((i * 7 + i / 256 * 3 + seed) % 251);
  }
  return made;
}

/// Memory whose first byte has an alignment of 16, with unused bytes around a part.
struct aligned_memory {
  explicit aligned_memory(std::size_t size) : all(size + 16, std::byte{0xee}) {
    first = all.data() + (16 - reinterpret_cast<std::uintptr_t>(all.data()) % 16) % 16;
  }
  bytes all;
  std::byte* first;
};

class CopyKernels : public ::testing::Test {
 protected:
  static ptx_interpreter::memory part(std::byte const* from, std::size_t size, bool writable) {
    auto const begin = reinterpret_cast<std::uintptr_t>(from);
    return {begin, begin + size, writable};
  }
  /// Runs the kernel with the command as its parameter.
  void run(std::string const& kernel, memory_command const& what,
           std::vector<ptx_interpreter::memory> const& accessible) {
    auto const* const begin = reinterpret_cast<std::byte const*>(&what);
    for (std::uint32_t block = 0; block < kernels::blocks(what); ++block) {
      interpreter_.run(kernel, {begin, sizeof what}, block, kernels::threads, accessible);
    }
  }
  /// Runs all commands in one grid of the kernel's twin.
  void run_twin(std::string const& kernel, std::uint32_t argument_bytes,
                std::vector<memory_command> const& all,
                std::vector<ptx_interpreter::memory> accessible) {
    std::uint32_t const stride = detail::twin_record_stride(argument_bytes);
    aligned_memory records{all.size() * stride};
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      detail::twin_record const record{static_cast<std::uint32_t>(blocks.size()),
                                       {kernels::blocks(all[i]), 1, 1}};
      std::memcpy(records.first + i * stride, &record, sizeof record);
      std::memcpy(records.first + i * stride + sizeof record, &all[i], argument_bytes);
      blocks.insert(blocks.end(), kernels::blocks(all[i]), i);
    }
    detail::twin_parameters const parameters{reinterpret_cast<std::uintptr_t>(records.first),
                                             reinterpret_cast<std::uintptr_t>(blocks.data()),
                                             stride, 0};
    accessible.push_back(part(records.first, all.size() * stride, false));
    accessible.push_back(part(reinterpret_cast<std::byte const*>(blocks.data()),
                              blocks.size() * sizeof blocks[0], false));
    auto const* const begin = reinterpret_cast<std::byte const*>(&parameters);
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      interpreter_.run(kernel + std::string{detail::twin_suffix}, {begin, sizeof parameters}, block,
                       kernels::threads, accessible);
    }
  }
  static memory_command copy_of(std::byte const* from, std::byte* to, std::size_t size) {
    return {.to = reinterpret_cast<std::uintptr_t>(to),
            .from = reinterpret_cast<std::uintptr_t>(from),
            .bytes = size,
            .kind = memory_op_kind::device_to_device};
  }
  static memory_command fill_of(std::byte* to, std::size_t size, bytes const& value) {
    memory_command made{.to = reinterpret_cast<std::uintptr_t>(to),
                        .bytes = size,
                        .kind = memory_op_kind::fill,
                        .pattern_bytes = static_cast<std::uint8_t>(value.size())};
    std::memcpy(made.pattern, value.data(), value.size());
    return made;
  }
  /// Copies `size` bytes from and to these offsets, and checks every byte.
  void copy(std::size_t size, std::size_t from, std::size_t to) {
    aligned_memory source{size + 48}, target{size + 48};
    bytes const content = pattern(size, 1);
    std::copy(content.begin(), content.end(), source.first + from);
    run("flotilla_copy", copy_of(source.first + from, target.first + to, size),
        {part(source.first + from, size, false), part(target.first + to, size, true)});
    ASSERT_EQ(std::memcmp(target.first + to, content.data(), size), 0)
        << size << " bytes from offset " << from << " to offset " << to;
  }

  std::string const text_ = all_kernels();
  ptx_interpreter interpreter_{text_};
};

// requirement
TEST_F(CopyKernels, CopyEverySizeAtEveryAlignment) {
  for (std::size_t from = 0; from < 16; ++from) {
    for (std::size_t to = 0; to < 16; ++to) {
      for (std::size_t const size : {1u, 15u, 16u, 17u, 40u}) { copy(size, from, to); }
    }
  }
  for (std::size_t const offset : {0u, 1u, 8u, 15u}) {
    for (std::size_t const size : {2048u, 16383u, 16384u, 16385u, 16400u, 65535u, 65536u}) {
      copy(size, offset, offset);
    }
  }
}

// boundary: a copy with narrow words has up to four blocks
TEST_F(CopyKernels, CopyManyNarrowWords) {
  for (std::size_t const word : {1u, 2u, 4u, 8u}) {
    std::size_t const max = kernels::max_words * word;
    for (std::size_t const size : {max, max - 1, max / 4, max / 4 + 1, max / 4 + word}) {
      copy(size, 16, 16 - word);
      copy(size, word, 0);
    }
  }
}

// requirement
TEST_F(CopyKernels, FillWithEveryPatternAtEveryAlignment) {
  for (std::size_t period = 1; period <= memory_command::max_pattern_bytes; ++period) {
    bytes const value = pattern(period, static_cast<unsigned>(period));
    for (std::size_t const count : {std::size_t{1}, std::size_t{2}, 80 / period + 1}) {
      std::size_t const offset = (period * 5 + count) % 16;
      aligned_memory target{count * period + 32};
      run("flotilla_fill", fill_of(target.first + offset, count * period, value),
          {part(target.first + offset, count * period, true)});
      for (std::size_t i = 0; i < count * period; ++i) {
        ASSERT_EQ(target.first[offset + i], value[i % period])
            << count << " times " << period << " bytes at offset " << offset << ", byte " << i;
      }
    }
  }
  for (std::size_t const period : {1u, 4u, 12u, 63u, 64u}) {
    for (std::size_t const size : {16384u, 65536u}) {
      bytes const value = pattern(period, 9);
      std::size_t const whole = size / period * period;
      aligned_memory target{whole + 32};
      run("flotilla_fill", fill_of(target.first + 3, whole, value),
          {part(target.first + 3, whole, true)});
      for (std::size_t i = 0; i < whole; ++i) {
        ASSERT_EQ(target.first[3 + i], value[i % period]) << whole << " bytes, byte " << i;
      }
    }
  }
}

// requirement: one grid of a twin executes several commands of different sizes
TEST_F(CopyKernels, TwinsExecuteSeveralCommands) {
  std::array<std::size_t, 5> const sizes{100, 40000, 1, 16384, 20000};
  std::vector<memory_command> copies, fills;
  aligned_memory source{200000}, target{200000}, filled{200000};
  bytes const content = pattern(200000, 3);
  std::copy(content.begin(), content.end(), source.first);
  std::size_t at = 0;
  for (std::size_t const size : sizes) {
    copies.push_back(copy_of(source.first + at, target.first + at, size));
    fills.push_back(fill_of(filled.first + at, size, pattern(size % 5 == 0 ? 5 : 1, 4)));
    at += size + 16 + size % 16;
  }
  run_twin("flotilla_copy", kernels::copy_argument_bytes, copies,
           {part(source.first, 200000, false), part(target.first, 200000, true)});
  run_twin("flotilla_fill", kernels::fill_argument_bytes, fills,
           {part(filled.first, 200000, true)});
  at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(std::memcmp(target.first + at, source.first + at, sizes[i]), 0) << i;
    bytes const value = pattern(sizes[i] % 5 == 0 ? 5 : 1, 4);
    for (std::size_t k = 0; k < sizes[i]; ++k) {
      ASSERT_EQ(filled.first[at + k], value[k % value.size()]) << i << ", byte " << k;
    }
    at += sizes[i];
    EXPECT_EQ(target.first[at], std::byte{0xee}) << "the byte behind copy " << i;
    EXPECT_EQ(filled.first[at], std::byte{0xee}) << "the byte behind fill " << i;
    at += 16 + sizes[i] % 16;
  }
}

/// Removes the ordered twins. Copies need none: their order is that of their waves.
std::string without_ordered_twins(std::string ptx) {
  while (true) {
    std::size_t const name = ptx.find("_ordered(");
    if (name == std::string::npos) { return ptx; }
    std::size_t const begin = ptx.rfind(".visible .entry", name);
    std::size_t const end = ptx.find("\n}\n\n", name) + 4;
    ptx.erase(begin, end - begin);
  }
}

// requirement: the twins in the library are those that flotilla_make_twins makes
TEST_F(CopyKernels, TwinsAreMadeByTheTool) {
  auto const made = make_twins::add_twins(head + kernels::copy_ptx() + kernels::fill_ptx());
  EXPECT_TRUE(made.unsuitable.empty());
  EXPECT_EQ(without_ordered_twins(made.ptx), text_);
}

// requirement: the kernels can be assembled for every architecture that flotilla supports, without
// spills and local memory
TEST_F(CopyKernels, CanBeAssembled) {
  if (std::string_view{FLOTILLA_TEST_PTXAS}.empty()) {
    GTEST_SKIP() << "needs ptxas of the CUDA toolkit";
  }
  auto const folder = std::filesystem::path{::testing::TempDir()} / "flotilla_copy_kernels";
  std::filesystem::create_directories(folder);
  std::ofstream{folder / "kernels.ptx"} << text_;
  for (std::string const architecture : {"75", "80", "86", "90", "100", "120"}) {
    std::string const command = "'" FLOTILLA_TEST_PTXAS "' -v --warning-as-error -arch=sm_" +
                                architecture + " '" + (folder / "kernels.ptx").string() + "' -o '" +
                                (folder / "kernels.cubin").string() + "' > '" +
                                (folder / "log").string() + "' 2>&1";
    int const status = std::system(command.c_str());
    std::ifstream in{folder / "log"};
    std::string const log{std::istreambuf_iterator<char>{in}, {}};
    EXPECT_EQ(status, 0) << log;
    EXPECT_FALSE(std::regex_search(log, std::regex{"[1-9][0-9]* bytes (stack|spill)"})) << log;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace flotilla::test

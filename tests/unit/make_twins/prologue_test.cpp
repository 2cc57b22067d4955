// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What a twin computes: an interpreter runs the instructions that find the launch of a block, for
// every block of a grid.
#include <array>
#include <cstdint>
#include <cstring>
#include <flotilla/detail/kernel_twin.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "make_twins/scanner.hpp"
#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

/// Runs the instructions of a twin that are not in loops, one line after another.
class interpreter {
 public:
  interpreter(std::string const& twin, detail::twin_parameters const& parameters)
      : parameters_(parameters) {
    std::istringstream in(twin.substr(twin.find('{')));
    for (std::string line; std::getline(in, line);) { lines_.push_back(line); }
  }

  /// Returns the registers at the end of block `block`.
  std::map<std::string, std::uint64_t> run(std::uint32_t block) {
    registers_ = {{"%ctaid.x", block}};
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      auto tokens = scan(lines_[at_]);
      if (tokens.size() < 2 || tokens[1].is(":") || tokens[0].is(".reg")) { continue; }
      if (tokens[0].is("@")) {
        if (value(tokens[1]) == 0) { continue; }
        tokens.erase(tokens.begin(), tokens.begin() + 2);
      }
      step(tokens);
    }
    return registers_;
  }

 private:
  void step(std::vector<token> const& t) {
    std::string const opcode(t[0].text);
    auto const u32 = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    if (opcode == "bra" || opcode == "bra.uni") {
      jump(std::string(t[1].text) + ":");
    } else if (opcode == "mov.u32" || opcode == "cvta.to.global.u64") {
      set(t[1], value(t[3]));
    } else if (opcode == "setp.eq.u32") {
      set(t[1], value(t[3]) == value(t[5]));
    } else if (opcode == "div.u32") {
      set(t[1], u32(value(t[3])) / u32(value(t[5])));
    } else if (opcode == "mul.lo.u32") {
      set(t[1], u32(value(t[3]) * value(t[5])));
    } else if (opcode == "sub.u32") {
      set(t[1], u32(value(t[3]) - value(t[5])));
    } else if (opcode == "mad.wide.u32") {
      set(t[1], value(t[3]) * value(t[5]) + value(t[7]));
    } else if (opcode == "ld.param.u64" || opcode == "ld.param.u32") {
      auto const offset = detail::twin_parameter_offsets[t[4].text.back() - '0'];
      auto const* const from = reinterpret_cast<unsigned char const*>(&parameters_) + offset;
      set(t[1], load(from, opcode.ends_with("u64") ? 8 : 4));
    } else if (opcode == "ld.global.v4.u32") {
      for (std::size_t i = 0; i < 4; ++i) { set(t[2 + 2 * i], load_global(t[12], 4 * i, 4)); }
    } else if (opcode == "ld.global.u32" || opcode == "ld.global.u64") {
      std::uint64_t const more = t[5].is("+") ? value(t[6]) : 0;
      set(t[1], load_global(t[4], more, opcode.ends_with("u64") ? 8 : 4));
    } else if (opcode != "ret") {
      FAIL() << "the interpreter does not know: " << lines_[at_];
    }
  }

  void jump(std::string const& label) {
    for (at_ = 0; lines_.at(at_) != label;) { ++at_; }
  }

  std::uint64_t value(token const& t) const {
    return t.text[0] == '%' ? registers_.at(std::string(t.text)) : std::stoull(std::string(t.text));
  }
  void set(token const& t, std::uint64_t v) { registers_[std::string(t.text)] = v; }

  static std::uint64_t load(void const* from, std::size_t bytes) {
    std::uint64_t v = 0;
    std::memcpy(&v, from, bytes);
    return v;
  }
  std::uint64_t load_global(token const& base, std::uint64_t offset, std::size_t bytes) const {
    return load(reinterpret_cast<void const*>(value(base) + offset), bytes);
  }

  detail::twin_parameters parameters_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::map<std::string, std::uint64_t> registers_;
};

using grid_size = std::array<std::uint32_t, 3>;

/// Runs a twin for launches with the given grids, and checks what each block sees. If
/// `blocks_each` is 0, the twin gets the array of indices.
void check_launches(std::vector<grid_size> const& launches, std::uint32_t blocks_each) {
  std::string const twin = twin_of(add_twins(
      kernel_with("\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ctaid.y;\n\tmov.u32 %r3, %ctaid.z;\n"
                  "\tmov.u32 %r4, %nctaid.x;\n\tmov.u32 %r5, %nctaid.y;\n"
                  "\tmov.u32 %r6, %nctaid.z;\n\tld.param.u64 %rd1, [k_param_0];\n"
                  "\tld.param.u32 %r7, [k_param_1];\n")));
  std::uint32_t const stride = detail::twin_record_stride(12);
  std::vector<unsigned char> records(launches.size() * stride);
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t i = 0; i < launches.size(); ++i) {
    auto const [x, y, z] = launches[i];
    detail::twin_record const record{static_cast<std::uint32_t>(blocks.size()), launches[i]};
    std::uint64_t const first = 0x100000000u + i;
    std::uint32_t const second = 70 + i;
    std::memcpy(&records[i * stride], &record, sizeof record);
    std::memcpy(&records[i * stride + 16], &first, 8);
    std::memcpy(&records[i * stride + 24], &second, 4);
    blocks.insert(blocks.end(), x * y * z, i);
  }
  interpreter run(twin, {reinterpret_cast<std::uint64_t>(records.data()),
                         blocks_each == 0 ? reinterpret_cast<std::uint64_t>(blocks.data()) : 0,
                         stride, blocks_each});
  std::uint32_t block = 0;
  for (std::uint32_t i = 0; i < launches.size(); ++i) {
    auto const [gx, gy, gz] = launches[i];
    for (std::uint32_t z = 0; z < gz; ++z) {
      for (std::uint32_t y = 0; y < gy; ++y) {
        for (std::uint32_t x = 0; x < gx; ++x) {
          auto seen = run.run(block++);
          std::vector<std::uint64_t> const expected{x, y, z, gx, gy, gz, 70 + i, 0x100000000u + i};
          std::vector<std::uint64_t> const found{seen["%r1"], seen["%r2"], seen["%r3"],
                                                 seen["%r4"], seen["%r5"], seen["%r6"],
                                                 seen["%r7"], seen["%rd1"]};
          ASSERT_EQ(found, expected) << "block " << block - 1 << " of launch " << i;
        }
      }
    }
  }
}

TEST(TwinComputes, TheBlockOfLaunchesOfOneSize) {
  check_launches({{1, 1, 1}}, 1);
  check_launches({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1);
  check_launches({{6, 1, 1}, {1, 6, 1}, {1, 2, 3}, {3, 1, 2}}, 6);
}

TEST(TwinComputes, TheBlockOfLaunchesOfDifferentSizes) {
  check_launches({{5, 1, 1}, {2, 3, 4}, {1, 1, 1}, {1, 7, 1}, {4, 2, 1}, {1, 1, 9}}, 0);
}

}  // namespace
}  // namespace flotilla::make_twins

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a block of a PTX kernel on the host. It knows the instructions of flotilla's kernels that
// copy and fill, and of twins.

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "unit/dispatch/graph/ptx_code.hpp"

namespace flotilla::test {

/// A module in PTX. Registers are 64-bit words here; each instruction uses the bits of its type.
class ptx_interpreter {
 public:
  struct memory {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool writable;
  };

  /// @param text  must outlive the interpreter
  explicit ptx_interpreter(std::string_view text) : code_(text) {}

  /// Runs all threads of one block.
  /// @param parameters  the kernel's parameter buffer
  /// @param accessible  the memory that the block may access
  /// @throws std::runtime_error  The code does something wrong, or contains an unknown instruction.
  void run(std::string_view kernel, std::span<std::byte const> parameters, std::uint32_t block,
           std::uint32_t threads, std::vector<memory> accessible) {
    parameters_ = parameters;
    block_ = block;
    accessible_ = std::move(accessible);
    shared_.assign(code_.shared_bytes(), std::byte{0xcd});
    std::vector<thread> all(threads);
    for (std::uint32_t i = 0; i < threads; ++i) {
      all[i].index = i;
      all[i].of = &code_.find(kernel);
    }
    for (bool any = true; any;) {
      any = false;
      for (thread& each : all) {
        run_to_barrier(each);
        any = any || !each.has_ended;
      }
    }
  }

 private:
  using statement = ptx_code::statement;
  struct thread {
    std::uint32_t index = 0;
    ptx_code::kernel const* of = nullptr;
    std::size_t at = 0;  // the next statement
    bool has_ended = false;
    std::map<std::string_view, std::uint64_t> registers;
  };

  [[noreturn]] static void fail(std::string_view what, statement const& where) {
    std::string text{what};
    text += ": ";
    text += where.opcode;
    for (auto const& each : where.operands) { (text += ' ') += each; }
    throw std::runtime_error(text);
  }

  [[nodiscard]] static unsigned bytes_of(std::string_view opcode) {
    if (opcode.ends_with("64")) { return 8; }
    if (opcode.ends_with("32")) { return 4; }
    return opcode.ends_with("16") ? 2 : 1;
  }
  [[nodiscard]] static std::uint64_t cut(std::uint64_t value, unsigned bytes) {
    return bytes == 8 ? value : value & ((std::uint64_t{1} << 8 * bytes) - 1);
  }
  [[nodiscard]] std::uint64_t value(thread const& of, std::string_view name) const {
    if (name == "%tid.x") { return of.index; }
    if (name == "%ctaid.x") { return block_; }
    if (name.front() == '%') {
      auto const found = of.registers.find(name);
      if (found == of.registers.end()) {
        throw std::runtime_error("the register has no value: " + std::string{name});
      }
      return found->second;
    }
    auto const shared = code_.shared().find(name);
    return shared != code_.shared().end() ? shared->second : std::stoull(std::string{name});
  }

  void run_to_barrier(thread& one) {
    while (!one.has_ended) {
      statement const& next = one.of->code.at(one.at++);
      if (!next.predicate.empty() && (value(one, next.predicate) != 0) == next.negated) {
        continue;
      }
      if (next.opcode.starts_with("bar.sync")) { return; }
      step(one, next);
    }
  }

  void step(thread& one, statement const& s) {
    std::string_view const op = s.opcode;
    if (op.starts_with("bra")) {
      one.at = one.of->labels.at(s.operands[0]);
    } else if (op == "ret") {
      one.has_ended = true;
    } else if (op.starts_with("ld.") || op.starts_with("st.")) {
      access(one, s);
    } else {
      one.registers[s.operands[0]] = compute(one, s);
    }
  }

  void access(thread& one, statement const& s) {
    bool const loads = s.opcode.starts_with("ld.");
    unsigned const bytes = bytes_of(s.opcode);
    std::size_t const words = s.operands.size() - 2;  // an address is two operands
    std::size_t const place = loads ? words : 0;
    std::size_t const first = loads ? 0 : 2;
    std::uint64_t const offset = std::stoull(std::string{s.operands[place + 1]});
    std::string_view const base = s.operands[place];
    std::byte* at = nullptr;
    if (s.opcode.starts_with("ld.param")) {
      at = const_cast<std::byte*>(parameters_.data()) + one.of->parameters.at(base) + offset;
    } else if (s.opcode.find(".shared") != std::string_view::npos) {
      at = shared_.data() + value(one, base) + offset;
      if (at + words * bytes > shared_.data() + shared_.size()) {
        fail("outside shared memory", s);
      }
    } else {
      at = reinterpret_cast<std::byte*>(value(one, base) + offset);
      check_global(reinterpret_cast<std::uintptr_t>(at), words * bytes, !loads, s);
    }
    for (std::size_t i = 0; i < words; ++i) {
      if (loads) {
        std::uint64_t word = 0;
        std::memcpy(&word, at + i * bytes, bytes);
        one.registers[s.operands[first + i]] = word;
      } else {
        std::uint64_t const word = value(one, s.operands[first + i]);
        std::memcpy(at + i * bytes, &word, bytes);
      }
    }
  }
  void check_global(std::uintptr_t at, std::size_t bytes, bool writes, statement const& s) const {
    if (at % bytes != 0) { fail("not aligned", s); }
    for (memory const& each : accessible_) {
      if (at >= each.begin && at + bytes <= each.end && (each.writable || !writes)) { return; }
    }
    fail("not accessible", s);
  }

  [[nodiscard]] std::uint64_t compute(thread const& one, statement const& s) const {
    std::string_view const op = s.opcode;
    unsigned const bytes = bytes_of(op);
    bool const is_signed = op.find(".s") != std::string_view::npos;
    auto const get = [&](std::size_t i) { return cut(value(one, s.operands.at(i)), bytes); };
    auto const as_signed = [&](std::uint64_t v) {
      return bytes == 4 ? std::int64_t{static_cast<std::int32_t>(v)} : static_cast<std::int64_t>(v);
    };
    auto const less = [&](std::uint64_t a, std::uint64_t b) {
      return is_signed ? as_signed(a) < as_signed(b) : a < b;
    };
    auto const is = [op](std::string_view name) { return op.starts_with(name); };
    if (is("setp.")) {
      std::uint64_t const a = get(1), b = get(2);
      std::string_view const how = op.substr(5, 2);
      bool const yes = how == "eq"   ? a == b
                       : how == "ne" ? a != b
                       : how == "lt" ? less(a, b)
                       : how == "ge" ? !less(a, b)
                       : how == "gt" ? less(b, a)
                                     : !less(b, a);
      if (how != "le" && how != "gt" && how != "ge" && how != "lt" && how != "ne" && how != "eq") {
        fail("unknown comparison", s);
      }
      return yes ? 1 : 0;
    }
    if (is("mov.") || is("cvta.")) { return get(1); }
    if (is("cvt.u64.u32")) { return cut(value(one, s.operands[1]), 4); }
    if (is("cvt.u32.u64") || is("cvt.u32.u16")) { return cut(value(one, s.operands[1]), 4); }
    if (is("mad.wide.u32")) { return get(1) * get(2) + value(one, s.operands[3]); }
    if (is("mad.lo.")) { return cut(get(1) * get(2) + get(3), bytes); }
    if (is("mul.lo.")) { return cut(get(1) * get(2), bytes); }
    if (is("add.")) { return cut(get(1) + get(2), bytes); }
    if (is("sub.")) { return cut(get(1) - get(2), bytes); }
    if (is("min.")) { return less(get(1), get(2)) ? get(1) : get(2); }
    if (is("div.u")) { return get(1) / get(2); }
    if (is("rem.u")) { return get(1) % get(2); }
    if (is("neg.")) { return cut(~get(1) + 1, bytes); }
    if (is("not.")) { return cut(~get(1), bytes); }
    if (is("and.")) { return get(1) & get(2); }
    if (is("or.")) { return get(1) | get(2); }
    if (is("xor.")) { return get(1) ^ get(2); }
    if (is("shl.")) { return cut(get(1) << value(one, s.operands[2]), bytes); }
    if (is("shr.u")) { return get(1) >> value(one, s.operands[2]); }
    if (is("popc.")) { return static_cast<std::uint64_t>(std::popcount(get(1))); }
    if (is("clz.b32")) {
      return static_cast<std::uint64_t>(std::countl_zero(static_cast<std::uint32_t>(get(1))));
    }
    if (is("brev.b32")) {
      std::uint64_t reversed = 0;
      for (unsigned i = 0; i < 32; ++i) { reversed |= (get(1) >> i & 1) << (31 - i); }
      return reversed;
    }
    fail("unknown instruction", s);
  }

  ptx_code code_;
  std::span<std::byte const> parameters_;
  std::uint32_t block_ = 0;
  std::vector<memory> accessible_;
  std::vector<std::byte> shared_;
};

}  // namespace flotilla::test

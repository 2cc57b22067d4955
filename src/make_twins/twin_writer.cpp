// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/twin_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <flotilla/detail/ordered_twin.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "make_twins/order_code.hpp"
#include "make_twins/order_suitability.hpp"
#include "make_twins/prologue.hpp"
#include "make_twins/suitability.hpp"

namespace flotilla::make_twins {
namespace {

/// Copies a text, and replaces parts of it. The parts must be in order.
class edited_copy {
 public:
  explicit edited_copy(std::string_view text) : text_(text) {}

  /// Replaces the text from `begin` to `end`, which are in the original text.
  void replace(char const* begin, char const* end, std::string_view by) {
    result_.append(text_.data() + copied_, begin);
    result_.append(by);
    copied_ = static_cast<std::size_t>(end - text_.data());
  }
  void replace(token const& t, std::string_view by) {
    replace(t.text.data(), t.text.data() + t.text.size(), by);
  }

  std::string finish() {
    result_.append(text_.substr(copied_));
    return std::move(result_);
  }

 private:
  std::string_view text_;
  std::size_t copied_ = 0;
  std::string result_;
};

/// Returns for example "ld.global.v2.u32" for "ld.param::entry.v2.u32".
std::string with_global_space(std::string_view opcode) {
  std::size_t const begin = opcode.find(".param");
  std::size_t const end = opcode.find('.', begin + 1);
  return std::string(opcode.substr(0, begin)) + ".global" + std::string(opcode.substr(end));
}

void replace_load(edited_copy& copy, statement const& load, parameter_address const& from) {
  copy.replace(load.opcode, with_global_space(load.opcode.text));
  auto const offset = std::int64_t{sizeof(detail::twin_record)} + from.of->offset + from.offset;
  token const& last = from.tokens.back();
  std::string address{record_register};
  address.append(1, '+').append(std::to_string(offset));
  copy.replace(from.tokens.front().text.data(), last.text.data() + last.text.size(), address);
}

/// Returns for example "ld.global.v2.u32" for "ld.global.nc.v2.u32". Loads with `.nc` may read what
/// a cache has kept since before the block has waited for other launches of the same grid.
std::string without_nc(std::string_view opcode) {
  std::size_t const at = opcode.find(".nc");
  return std::string(opcode.substr(0, at)) + std::string(opcode.substr(at + 3));
}

/// Returns the parameters of the twin, of these sizes.
std::string parameter_list(std::string_view twin, std::span<std::uint32_t const> sizes) {
  std::string list;
  std::size_t i = 0;
  for (std::uint32_t const bytes : sizes) {
    list += i == 0 ? "\n" : ",\n";
    list += "\t.param .u" + std::to_string(8 * bytes) + " " + twin_parameter(twin, i++);
  }
  return list + "\n";
}

/// The body of a twin, and what it needs to know.
struct twin_body {
  std::string text;
  launch_values used;
};
twin_body body_of(function const& kernel, bool ordered) {
  edited_copy copy(*kernel.body);
  launch_values used;
  for (statement const& s : kernel.statements) {
    if (copies_block_index(s)) {
      copy.replace(s.operands[2], used.register_for(s.operands[2].text));
    } else if (auto const from = loaded_parameter(kernel, s); from.of) {
      used.arguments = true;
      replace_load(copy, s, from);
    } else if (ordered && returns(s)) {
      copy.replace(s.opcode, "bra " + std::string(end_label));
    } else if (ordered && loads_through_texture_cache(s)) {
      copy.replace(s.opcode, without_nc(s.opcode.text));
    }
  }
  return {copy.finish(), used};
}

std::string head_of(function const& kernel, std::string const& twin,
                    std::span<std::uint32_t const> sizes) {
  std::string head = "\n";
  if (!kernel.linkage.empty()) { head += std::string(kernel.linkage) + " "; }
  head += ".entry " + twin + "(" + parameter_list(twin, sizes) + ")\n";
  if (!kernel.directives_text.empty()) { head += std::string(kernel.directives_text) + "\n"; }
  return head;
}

}  // namespace

std::string write_twin(function const& kernel) {
  auto const [text, used] = body_of(kernel, false);
  std::string const name = std::string(kernel.name) + std::string(detail::twin_suffix);
  return head_of(kernel, name, detail::twin_parameter_sizes) + "{\n" + write_prologue(name, used) +
         text + "\n}\n";
}

std::string write_ordered_twin(function const& kernel) {
  auto const [text, used] = body_of(kernel, true);
  std::string const name = std::string(kernel.name) + std::string(detail::ordered_twin_suffix);
  return head_of(kernel, name, detail::ordered_twin_parameter_sizes) + "{\n" +
         write_ordered_prologue(name, used) + text + "\n" + write_ordered_epilogue(name) + "}\n";
}

}  // namespace flotilla::make_twins

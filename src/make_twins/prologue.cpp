// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/prologue.hpp"

#include <flotilla/detail/kernel_twin.hpp>
#include <utility>

namespace flotilla::make_twins {
namespace {

// Places of the members in twin_parameters.
constexpr std::size_t records = 0, blocks = 1, stride = 2, blocks_each = 3;
constexpr bool is_at(std::size_t place, std::size_t offset) {
  return detail::twin_parameter_offsets[place] == offset;
}
static_assert(is_at(records, offsetof(detail::twin_parameters, records)) &&
              is_at(blocks, offsetof(detail::twin_parameters, blocks)) &&
              is_at(stride, offsetof(detail::twin_parameters, stride)) &&
              is_at(blocks_each, offsetof(detail::twin_parameters, blocks_each)));

// The index of the record is the block's number divided by the blocks of each launch, or an element
// of an array if the launches have different numbers of blocks.
constexpr std::string_view find_record = R"(
	.reg .pred 	%flotilla_differ;
	.reg .b32 	%flotilla_block, %flotilla_each, %flotilla_index, %flotilla_stride;
	.reg .b64 	%flotilla_blocks, %flotilla_record;
	mov.u32 	%flotilla_block, %ctaid.x;
	ld.param.u32 	%flotilla_each, [@blocks_each@];
	setp.eq.u32 	%flotilla_differ, %flotilla_each, 0;
	@%flotilla_differ bra 	$flotilla_read_index;
	div.u32 	%flotilla_index, %flotilla_block, %flotilla_each;
	bra.uni 	$flotilla_has_index;
$flotilla_read_index:
	ld.param.u64 	%flotilla_blocks, [@blocks@];
	cvta.to.global.u64 	%flotilla_blocks, %flotilla_blocks;
	mad.wide.u32 	%flotilla_blocks, %flotilla_block, 4, %flotilla_blocks;
	ld.global.u32 	%flotilla_index, [%flotilla_blocks];
$flotilla_has_index:
	ld.param.u64 	%flotilla_record, [@records@];
	cvta.to.global.u64 	%flotilla_record, %flotilla_record;
	ld.param.u32 	%flotilla_stride, [@stride@];
	mad.wide.u32 	%flotilla_record, %flotilla_index, %flotilla_stride, %flotilla_record;
)";

static_assert(offsetof(detail::twin_record, first_block) == 0 &&
                  offsetof(detail::twin_record, grid) == 4,
              "the code below loads the members in this order");
constexpr std::string_view load_shape = R"(
	.reg .b32 	%flotilla_first, %flotilla_nctaid_x, %flotilla_nctaid_y, %flotilla_nctaid_z;
	ld.global.v4.u32 	{%flotilla_first, %flotilla_nctaid_x, %flotilla_nctaid_y, %flotilla_nctaid_z}, [%flotilla_record];
)";

constexpr std::string_view compute_block_index = R"(
	.reg .b32 	%flotilla_ctaid_x, %flotilla_ctaid_y, %flotilla_ctaid_z, %flotilla_row, %flotilla_done;
	sub.u32 	%flotilla_ctaid_x, %flotilla_block, %flotilla_first;
	div.u32 	%flotilla_row, %flotilla_ctaid_x, %flotilla_nctaid_x;
	mul.lo.u32 	%flotilla_done, %flotilla_row, %flotilla_nctaid_x;
	sub.u32 	%flotilla_ctaid_x, %flotilla_ctaid_x, %flotilla_done;
	div.u32 	%flotilla_ctaid_z, %flotilla_row, %flotilla_nctaid_y;
	mul.lo.u32 	%flotilla_done, %flotilla_ctaid_z, %flotilla_nctaid_y;
	sub.u32 	%flotilla_ctaid_y, %flotilla_row, %flotilla_done;
)";

}  // namespace

std::string launch_values::register_for(std::string_view special) {
  bool const of_block = special.starts_with("%ctaid");
  block_index |= of_block;
  grid_size |= !of_block;
  return (of_block ? "%flotilla_ctaid_" : "%flotilla_nctaid_") + std::string(1, special.back());
}

std::string twin_parameter(std::string_view twin, std::size_t i) {
  return std::string(twin) + "_param_" + std::to_string(i);
}

std::string write_prologue(std::string_view twin, launch_values const& used) {
  std::string code;
  if (used.arguments || used.block_index || used.grid_size) { code += find_record.substr(1); }
  if (used.block_index || used.grid_size) { code += load_shape.substr(1); }
  if (used.block_index) { code += compute_block_index.substr(1); }
  std::pair<std::string_view, std::size_t> const parameters[] = {{"@records@", records},
                                                                 {"@blocks@", blocks},
                                                                 {"@stride@", stride},
                                                                 {"@blocks_each@", blocks_each}};
  for (auto const& [placeholder, i] : parameters) {
    if (auto const at = code.find(placeholder); at != std::string::npos) {
      code.replace(at, placeholder.size(), twin_parameter(twin, i));
    }
  }
  return code;
}

}  // namespace flotilla::make_twins

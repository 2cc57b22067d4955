// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/twin_begin.hpp"

#include <cstddef>

#include <flotilla/detail/kernel_twin.hpp>

namespace flotilla::dispatch::copy_kernels {

namespace {

// NAME stands for the name of the twin.
constexpr std::string_view placeholder = "NAME";
constexpr std::string_view text = R"(
.visible .entry NAME(
	.param .u64 NAME_param_0,
	.param .u64 NAME_param_1,
	.param .u32 NAME_param_2,
	.param .u32 NAME_param_3
)
.maxntid 128
{
	.reg .pred 	%flotilla_differ;
	.reg .b32 	%flotilla_block, %flotilla_each, %flotilla_index, %flotilla_stride;
	.reg .b64 	%flotilla_blocks, %flotilla_record;
	mov.u32 	%flotilla_block, %ctaid.x;
	ld.param.u32 	%flotilla_each, [NAME_param_3];
	setp.eq.u32 	%flotilla_differ, %flotilla_each, 0;
	@%flotilla_differ bra 	$flotilla_read_index;
	div.u32 	%flotilla_index, %flotilla_block, %flotilla_each;
	bra.uni 	$flotilla_has_index;
$flotilla_read_index:
	ld.param.u64 	%flotilla_blocks, [NAME_param_1];
	cvta.to.global.u64 	%flotilla_blocks, %flotilla_blocks;
	mad.wide.u32 	%flotilla_blocks, %flotilla_block, 4, %flotilla_blocks;
	ld.global.u32 	%flotilla_index, [%flotilla_blocks];
$flotilla_has_index:
	ld.param.u64 	%flotilla_record, [NAME_param_0];
	cvta.to.global.u64 	%flotilla_record, %flotilla_record;
	ld.param.u32 	%flotilla_stride, [NAME_param_2];
	mad.wide.u32 	%flotilla_record, %flotilla_index, %flotilla_stride, %flotilla_record;
	.reg .b32 	%flotilla_first, %flotilla_nctaid_x, %flotilla_nctaid_y, %flotilla_nctaid_z;
	ld.global.v4.u32 	{%flotilla_first, %flotilla_nctaid_x, %flotilla_nctaid_y, %flotilla_nctaid_z}, [%flotilla_record];
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

std::string twin_begin(std::string_view kernel) {
  std::string const name = std::string{kernel} + std::string{detail::twin_suffix};
  std::string made{text};
  for (std::size_t at = 0; (at = made.find(placeholder, at)) != std::string::npos;) {
    made.replace(at, placeholder.size(), name);
  }
  return made;
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string made;
  for (std::string_view const each : parts) { made += each; }
  return made;
}

}  // namespace flotilla::dispatch::copy_kernels

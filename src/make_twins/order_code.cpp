// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/order_code.hpp"

#include <cstddef>
#include <flotilla/detail/ordered_twin.hpp>
#include <utility>

namespace flotilla::make_twins {
namespace {

// Places of the members in ordered_twin_parameters.
constexpr std::pair<std::string_view, std::size_t> order_parameters[] = {
    {"@orders@", 4},        {"@edges@", 5},           {"@wave_ends@", 6},
    {"@words@", 7},         {"@counter@", 8},         {"@first_number@", 9},
    {"@first_ticket@", 10}, {"@numbered_waves@", 11}, {"@stop@", 12}};
constexpr bool is_order_at(std::size_t place, std::size_t offset) {
  return detail::ordered_twin_parameter_offsets[place] == offset;
}
static_assert(is_order_at(4, offsetof(detail::ordered_twin_parameters, orders)) &&
              is_order_at(5, offsetof(detail::ordered_twin_parameters, edges)) &&
              is_order_at(6, offsetof(detail::ordered_twin_parameters, wave_ends)) &&
              is_order_at(7, offsetof(detail::ordered_twin_parameters, words)) &&
              is_order_at(8, offsetof(detail::ordered_twin_parameters, counter)) &&
              is_order_at(9, offsetof(detail::ordered_twin_parameters, first_number)) &&
              is_order_at(10, offsetof(detail::ordered_twin_parameters, first_ticket)) &&
              is_order_at(11, offsetof(detail::ordered_twin_parameters, numbered_waves)) &&
              is_order_at(12, offsetof(detail::ordered_twin_parameters, stop)));
static_assert(detail::twin_order::undecided == 1 && detail::twin_order::skipped == 2 &&
                  detail::twin_order::awaited_elsewhere == 4,
              "the code below has these values");
static_assert(offsetof(detail::twin_words, waves) == 128 &&
                  offsetof(detail::twin_words, launches) == 256,
              "the code below has these offsets");

// The words of @shared@: the ticket, how many threads have ended, the index of the record, the
// wave, and the flags. The last three are not kept in registers, so the kernel's code has as many
// as in its twin.
//
// This replaces the line that reads the block's number from %ctaid.x.
constexpr std::string_view take_ticket = R"(	.shared .align 128 .b8 	@shared@[128];
	.reg .pred 	%flotilla_not_first;
	.reg .b32 	%flotilla_thread, %flotilla_threads, %flotilla_a, %flotilla_b;
	.reg .b64 	%flotilla_words;
	mov.u32 	%flotilla_thread, %tid.z;
	mov.u32 	%flotilla_a, %ntid.y;
	mov.u32 	%flotilla_b, %tid.y;
	mad.lo.u32 	%flotilla_thread, %flotilla_thread, %flotilla_a, %flotilla_b;
	mov.u32 	%flotilla_threads, %ntid.x;
	mov.u32 	%flotilla_b, %tid.x;
	mad.lo.u32 	%flotilla_thread, %flotilla_thread, %flotilla_threads, %flotilla_b;
	mul.lo.u32 	%flotilla_threads, %flotilla_threads, %flotilla_a;
	mov.u32 	%flotilla_a, %ntid.z;
	mul.lo.u32 	%flotilla_threads, %flotilla_threads, %flotilla_a;
	ld.param.u64 	%flotilla_words, [@words@];
	cvta.to.global.u64 	%flotilla_words, %flotilla_words;
	setp.ne.u32 	%flotilla_not_first, %flotilla_thread, 0;
	@%flotilla_not_first bra $flotilla_has_ticket;
	atom.relaxed.gpu.global.add.u32 	%flotilla_a, [%flotilla_words], 1;
	ld.param.u32 	%flotilla_b, [@first_ticket@];
	sub.u32 	%flotilla_a, %flotilla_a, %flotilla_b;
	st.shared.u32 	[@shared@], %flotilla_a;
	mov.u32 	%flotilla_a, 0;
	st.shared.u32 	[@shared@+4], %flotilla_a;
$flotilla_has_ticket:
	bar.sync 	0;
	ld.shared.u32 	%flotilla_block, [@shared@];
)";
constexpr std::string_view read_number = "\tmov.u32 \t%flotilla_block, %ctaid.x;\n";

// A block of a grid that waits for other devices begins when the host has launched all of them.
// Then each thread waits for every n-th edge, where n is the number of threads. It acquires a word
// only when the word has its value: an acquire at each look made other blocks of the multiprocessor
// slower. The barrier makes what the threads have acquired visible to the others. A thread that
// waits for another device looks rarely whether the host wants it to stop, because another device
// has failed: hundreds of threads that read memory of the host slow down all that use the bus.
constexpr std::string_view wait_for_edges = R"(	.reg .pred 	%flotilla_p, %flotilla_elsewhere;
	.reg .b32 	%flotilla_edge, %flotilla_edges, %flotilla_wave, %flotilla_ended, %flotilla_looks;
	.reg .b64 	%flotilla_order, %flotilla_at, %flotilla_value;
	ld.param.u64 	%flotilla_order, [@orders@];
	cvta.to.global.u64 	%flotilla_order, %flotilla_order;
	mad.wide.u32 	%flotilla_order, %flotilla_index, 16, %flotilla_order;
	ld.volatile.global.v4.u32 	{%flotilla_edge, %flotilla_edges, %flotilla_wave, %flotilla_a}, [%flotilla_order];
$flotilla_undecided:
	and.b32 	%flotilla_b, %flotilla_a, 1;
	setp.eq.u32 	%flotilla_p, %flotilla_b, 0;
	@%flotilla_p bra $flotilla_decided;
	nanosleep.u32 	100;
	ld.param.u64 	%flotilla_value, [@stop@];
	cvta.to.global.u64 	%flotilla_value, %flotilla_value;
	ld.relaxed.sys.global.u64 	%flotilla_value, [%flotilla_value];
	setp.ne.u64 	%flotilla_p, %flotilla_value, 0;
	@%flotilla_p trap;
	ld.acquire.sys.global.u32 	%flotilla_a, [%flotilla_order+12];
	bra 	$flotilla_undecided;
$flotilla_decided:
	@%flotilla_not_first bra $flotilla_noted;
	st.shared.u32 	[@shared@+8], %flotilla_index;
	st.shared.u32 	[@shared@+12], %flotilla_wave;
	st.shared.u32 	[@shared@+16], %flotilla_a;
$flotilla_noted:
	and.b32 	%flotilla_b, %flotilla_a, 2;
	setp.ne.u32 	%flotilla_p, %flotilla_b, 0;
	@%flotilla_p bra $flotilla_end;
	add.u32 	%flotilla_edges, %flotilla_edges, %flotilla_edge;
	add.u32 	%flotilla_edge, %flotilla_edge, %flotilla_thread;
	ld.param.u64 	%flotilla_order, [@edges@];
	cvta.to.global.u64 	%flotilla_order, %flotilla_order;
$flotilla_next_edge:
	setp.ge.u32 	%flotilla_p, %flotilla_edge, %flotilla_edges;
	@%flotilla_p bra $flotilla_no_edge;
	mad.wide.u32 	%flotilla_at, %flotilla_edge, 16, %flotilla_order;
	ld.global.v2.u64 	{%flotilla_at, %flotilla_value}, [%flotilla_at];
	cvta.to.global.u64 	%flotilla_at, %flotilla_at;
	mov.b64 	{%flotilla_ended, %flotilla_looks}, %flotilla_value;
	setp.ne.u32 	%flotilla_elsewhere, %flotilla_looks, 0;
$flotilla_look:
	@%flotilla_elsewhere ld.relaxed.sys.global.u32 	%flotilla_a, [%flotilla_at];
	@!%flotilla_elsewhere ld.relaxed.gpu.global.u32 	%flotilla_a, [%flotilla_at];
	sub.u32 	%flotilla_a, %flotilla_a, %flotilla_ended;
	setp.ge.s32 	%flotilla_p, %flotilla_a, 0;
	@%flotilla_p bra $flotilla_seen;
	nanosleep.u32 	40;
	@!%flotilla_elsewhere bra $flotilla_look;
	add.u32 	%flotilla_looks, %flotilla_looks, 1;
	and.b32 	%flotilla_b, %flotilla_looks, 4095;
	setp.ne.u32 	%flotilla_p, %flotilla_b, 0;
	@%flotilla_p bra $flotilla_look;
	ld.param.u64 	%flotilla_value, [@stop@];
	cvta.to.global.u64 	%flotilla_value, %flotilla_value;
	ld.relaxed.sys.global.u64 	%flotilla_value, [%flotilla_value];
	setp.eq.u64 	%flotilla_p, %flotilla_value, 0;
	@%flotilla_p bra $flotilla_look;
	trap;
$flotilla_seen:
	@%flotilla_elsewhere ld.acquire.sys.global.u32 	%flotilla_a, [%flotilla_at];
	@!%flotilla_elsewhere ld.acquire.gpu.global.u32 	%flotilla_a, [%flotilla_at];
	add.u32 	%flotilla_edge, %flotilla_edge, %flotilla_threads;
	bra 	$flotilla_next_edge;
$flotilla_no_edge:
	bar.sync 	0;
)";

// Threads of the kernel may end at different times, while others still use barriers. So they count
// themselves, one thread for those that end together, and the last one of the block goes on. The
// operations on the counts are acquire and release, so the release of the last thread covers what
// the whole block has written. The first fence is for results in the memory of the host. The second
// one keeps the numbers in their order.
constexpr std::string_view count_end = R"($flotilla_end:
	{
	.reg .pred 	%p;
	.reg .b32 	%active, %a, %b, %wave;
	.reg .b64 	%words, %at, %number, %first;
	activemask.b32 	%active;
	bar.warp.sync 	%active;
	mov.u32 	%a, %lanemask_lt;
	and.b32 	%a, %a, %active;
	setp.ne.u32 	%p, %a, 0;
	@%p ret;
	popc.b32 	%b, %active;
	atom.acq_rel.cta.shared.add.u32 	%a, [@shared@+4], %b;
	add.u32 	%a, %a, %b;
	mov.u32 	%b, %ntid.x;
	mov.u32 	%wave, %ntid.y;
	mul.lo.u32 	%b, %b, %wave;
	mov.u32 	%wave, %ntid.z;
	mul.lo.u32 	%b, %b, %wave;
	setp.ne.u32 	%p, %a, %b;
	@%p ret;
	ld.param.u64 	%words, [@words@];
	cvta.to.global.u64 	%words, %words;
	ld.shared.u32 	%a, [@shared@+8];
	mad.wide.u32 	%at, %a, 4, %words;
	ld.shared.u32 	%wave, [@shared@+16];
	and.b32 	%wave, %wave, 4;
	setp.ne.u32 	%p, %wave, 0;
	@%p red.release.sys.global.add.u32 	[%at+256], 1;
	@!%p red.release.gpu.global.add.u32 	[%at+256], 1;
	ld.shared.u32 	%wave, [@shared@+12];
$flotilla_count_wave:
	ld.param.u32 	%b, [@numbered_waves@];
	setp.ge.u32 	%p, %wave, %b;
	@%p ret;
	mad.wide.u32 	%at, %wave, 4, %words;
	atom.acq_rel.gpu.global.add.u32 	%a, [%at+128], 1;
	add.u32 	%a, %a, 1;
	ld.param.u64 	%at, [@wave_ends@];
	cvta.to.global.u64 	%at, %at;
	mad.wide.u32 	%at, %wave, 4, %at;
	ld.global.u32 	%b, [%at];
	setp.ne.u32 	%p, %a, %b;
	@%p ret;
	cvt.u64.u32 	%number, %wave;
	ld.param.u64 	%first, [@first_number@];
	add.u64 	%number, %number, %first;
	ld.param.u64 	%at, [@counter@];
	cvta.to.global.u64 	%at, %at;
	fence.acq_rel.sys;
	st.release.sys.global.u64 	[%at], %number;
	fence.acq_rel.sys;
	add.u32 	%wave, %wave, 1;
	bra 	$flotilla_count_wave;
	}
)";
static_assert(count_end.starts_with(end_label));

void replace_all(std::string& code, std::string_view what, std::string const& by) {
  for (std::size_t at = 0; (at = code.find(what, at)) != std::string::npos; at += by.size()) {
    code.replace(at, what.size(), by);
  }
}

std::string with_names(std::string code, std::string_view twin) {
  for (auto const& [placeholder, i] : order_parameters) {
    replace_all(code, placeholder, twin_parameter(twin, i));
  }
  replace_all(code, "@shared@", std::string(twin) + "_shared");
  return code;
}

}  // namespace

std::string write_ordered_prologue(std::string_view twin, launch_values const& used) {
  launch_values needed = used;
  needed.arguments = true;  // the index of the record is needed in any case
  std::string code = write_prologue(twin, needed);
  code.replace(code.find(read_number), read_number.size(), take_ticket);
  code += wait_for_edges;
  return with_names(std::move(code), twin);
}

std::string write_ordered_epilogue(std::string_view twin) {
  return with_names(std::string(count_end), twin);
}

}  // namespace flotilla::make_twins

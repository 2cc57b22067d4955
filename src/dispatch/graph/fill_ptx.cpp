// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernel that fills, and its twin.
#include <cstddef>
#include <string>
#include <string_view>

#include "dispatch/graph/copy_kernels.hpp"
#include "dispatch/graph/twin_begin.hpp"

namespace flotilla::dispatch::copy_kernels {

namespace {

using detail::memory_command;

// The kernels read these members of their parameter.
static_assert(offsetof(memory_command, to) == 0 && offsetof(memory_command, bytes) == 16 &&
              offsetof(memory_command, pattern_bytes) == 26 &&
              offsetof(memory_command, pattern) == 48);
static_assert(fill_argument_bytes == sizeof(memory_command) &&
              memory_command::max_pattern_bytes == 64);
static_assert(threads == 128 && words_of_block == 1024, "the code below contains these numbers");

// The bytes of the pattern are in the parameter, or in the record of a twin. The block loads them
// once, and writes a tile to shared memory, from which it copies the words.
constexpr std::string_view fill_begin = R"(
.shared .align 16 .b8 flotilla_pattern[64];
.shared .align 16 .b8 flotilla_tile[1024];

.visible .entry flotilla_fill(.param .align 16 .b8 command[112])
.maxntid 128
{
)";
constexpr std::string_view fill_registers = R"(  .reg .pred %p;
  .reg .b16 %byte;
  .reg .b32 %thread, %part, %period, %size, %first, %i, %at, %address, %pattern, %tile, %left;
  .reg .b32 %word, %v<4>;
  .reg .b64 %to, %bytes, %head, %tail, %words, %long, %target, %q<8>;

  // The first thread writes the pattern to shared memory.
  mov.u32 %thread, %tid.x;
  setp.eq.u32 %p, %thread, 0;
)";
constexpr std::string_view fill_arguments = R"(  ld.param.u8 %byte, [command+26];
  ld.param.u64 %to, [command];
  ld.param.u64 %bytes, [command+16];
  @%p ld.param.v2.u64 {%q0, %q1}, [command+48];
  @%p ld.param.v2.u64 {%q2, %q3}, [command+64];
  @%p ld.param.v2.u64 {%q4, %q5}, [command+80];
  @%p ld.param.v2.u64 {%q6, %q7}, [command+96];
  mov.u32 %part, %ctaid.x;
)";
// The same in the record of a task.
constexpr std::string_view fill_twin_arguments = R"(  ld.global.u8 %byte, [%flotilla_record+42];
  ld.global.u64 %to, [%flotilla_record+16];
  ld.global.u64 %bytes, [%flotilla_record+32];
  @%p ld.global.v2.u64 {%q0, %q1}, [%flotilla_record+64];
  @%p ld.global.v2.u64 {%q2, %q3}, [%flotilla_record+80];
  @%p ld.global.v2.u64 {%q4, %q5}, [%flotilla_record+96];
  @%p ld.global.v2.u64 {%q6, %q7}, [%flotilla_record+112];
  mov.u32 %part, %flotilla_ctaid_x;
)";
constexpr std::string_view fill_code = R"(  mov.u32 %pattern, flotilla_pattern;
  mov.u32 %tile, flotilla_tile;
  @%p st.shared.v2.u64 [%pattern], {%q0, %q1};
  @%p st.shared.v2.u64 [%pattern+16], {%q2, %q3};
  @%p st.shared.v2.u64 [%pattern+32], {%q4, %q5};
  @%p st.shared.v2.u64 [%pattern+48], {%q6, %q7};
  cvt.u32.u16 %period, %byte;

  neg.s64 %head, %to;
  and.b64 %head, %head, 15;
  min.u64 %head, %head, %bytes;
  sub.u64 %words, %bytes, %head;
  and.b64 %tail, %words, 15;
  shr.u64 %words, %words, 4;

  // A tile is the pattern repeated until the tile consists of words: its size is the least common
  // multiple of 16 and the period. It begins like the first word.
  brev.b32 %size, %period;
  clz.b32 %size, %size;
  min.u32 %size, %size, 4;
  sub.u32 %size, 4, %size;
  shl.b32 %size, %period, %size;
  cvt.u32.u64 %first, %head;
  mov.u32 %i, %thread;
  bar.sync 0;
tile:
  setp.ge.u32 %p, %i, %size;
  @%p bra made;
  add.u32 %at, %first, %i;
  rem.u32 %at, %at, %period;
  add.u32 %at, %pattern, %at;
  ld.shared.u8 %byte, [%at];
  add.u32 %at, %tile, %i;
  st.shared.u8 [%at], %byte;
  add.u32 %i, %i, 128;
  bra tile;
made:
  bar.sync 0;

  // The first part writes the bytes before the first word and after the last one.
  setp.ne.u32 %p, %part, 0;
  @%p bra words;
  setp.ge.u32 %p, %thread, %first;
  @%p bra tail;
  rem.u32 %at, %thread, %period;
  add.u32 %at, %pattern, %at;
  ld.shared.u8 %byte, [%at];
  cvt.u64.u32 %long, %thread;
  add.u64 %target, %to, %long;
  st.global.u8 [%target], %byte;
tail:
  cvt.u32.u64 %left, %tail;
  setp.ge.u32 %p, %thread, %left;
  @%p bra words;
  sub.u64 %long, %bytes, %tail;
  cvt.u64.u32 %target, %thread;
  add.u64 %long, %long, %target;
  cvt.u32.u64 %at, %long;
  rem.u32 %at, %at, %period;
  add.u32 %at, %pattern, %at;
  ld.shared.u8 %byte, [%at];
  add.u64 %target, %to, %long;
  st.global.u8 [%target], %byte;

words:
  mad.lo.u32 %word, %part, 1024, %thread;
  cvt.u32.u64 %left, %words;
  sub.s32 %left, %left, %word;
  shl.b32 %at, %word, 4;
  cvt.u64.u32 %long, %at;
  add.u64 %target, %to, %long;
  add.u64 %target, %target, %head;
  mov.u32 %i, 0;
next:
  setp.le.s32 %p, %left, 0;
  @%p bra done;
  rem.u32 %address, %at, %size;
  add.u32 %address, %tile, %address;
  ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%address];
  st.global.v4.u32 [%target], {%v0, %v1, %v2, %v3};
  add.u64 %target, %target, 2048;
  add.u32 %at, %at, 2048;
  sub.s32 %left, %left, 128;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 8;
  @%p bra next;
done:
  ret;
)";

}  // namespace

std::string fill_ptx() {
  return join({fill_begin, fill_registers, fill_arguments, fill_code, "}\n"});
}
std::string fill_twin_ptx() {
  return join(
      {twin_begin("flotilla_fill"), fill_registers, fill_twin_arguments, fill_code, twin_end});
}

}  // namespace flotilla::dispatch::copy_kernels

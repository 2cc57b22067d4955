// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernel that copies, and its twin.
#include <cstddef>
#include <string>
#include <string_view>

#include "dispatch/graph/copy_kernels.hpp"
#include "dispatch/graph/twin_begin.hpp"

namespace flotilla::dispatch::copy_kernels {

namespace {

using detail::memory_command;

// The kernels read these members of their parameter.
static_assert(offsetof(memory_command, to) == 0 && offsetof(memory_command, from) == 8 &&
              offsetof(memory_command, bytes) == 16 && sizeof(std::size_t) == 8);
static_assert(copy_argument_bytes == offsetof(memory_command, bytes) + sizeof(std::size_t));
static_assert(threads == 128 && words_of_block == 1024, "the code below contains these numbers");

// A block copies 1024 words (see copy_kernels). If the words have 16 bytes, each thread first loads
// its eight words, and then stores them. Words of other widths are copied one after another.
constexpr std::string_view begin = R"(
.visible .entry flotilla_copy(.param .align 16 .b8 command[24])
.maxntid 128
{
)";
constexpr std::string_view registers = R"(  .reg .pred %p, %has<8>;
  .reg .b16 %byte;
  .reg .b32 %thread, %part, %left, %shift, %stride, %word, %v<32>;
  .reg .b64 %to, %from, %bytes, %mask, %head, %tail, %words, %at, %source, %target, %long;
)";
constexpr std::string_view arguments = R"(
  ld.param.v2.u64 {%to, %from}, [command];
  ld.param.u64 %bytes, [command+16];
  mov.u32 %part, %ctaid.x;
)";
// The same in the record of a task.
constexpr std::string_view twin_arguments = R"(
  ld.global.v2.u64 {%to, %from}, [%flotilla_record+16];
  ld.global.u64 %bytes, [%flotilla_record+32];
  mov.u32 %part, %flotilla_ctaid_x;
)";
constexpr std::string_view code = R"(  mov.u32 %thread, %tid.x;

  // %mask: the bytes of a word minus 1. %shift: the logarithm of the bytes.
  xor.b64 %mask, %to, %from;
  or.b64 %mask, %mask, 16;
  sub.u64 %at, %mask, 1;
  not.b64 %mask, %mask;
  and.b64 %mask, %mask, %at;
  popc.b64 %shift, %mask;
  // The bytes before the first word, the words, and the bytes after the last one.
  neg.s64 %head, %to;
  and.b64 %head, %head, %mask;
  min.u64 %head, %head, %bytes;
  sub.u64 %words, %bytes, %head;
  and.b64 %tail, %words, %mask;
  shr.u64 %words, %words, %shift;

  // The first part copies these bytes, one in each thread.
  setp.ne.u32 %p, %part, 0;
  @%p bra words;
  cvt.u64.u32 %at, %thread;
  add.u64 %source, %from, %at;
  add.u64 %target, %to, %at;
  setp.lt.u64 %p, %at, %head;
  @%p ld.global.u8 %byte, [%source];
  @%p st.global.u8 [%target], %byte;
  sub.u64 %long, %bytes, %tail;
  add.u64 %source, %source, %long;
  add.u64 %target, %target, %long;
  setp.lt.u64 %p, %at, %tail;
  @%p ld.global.u8 %byte, [%source];
  @%p st.global.u8 [%target], %byte;

words:
  // %word: the first word of this thread. %left: the number of words from there.
  mad.lo.u32 %word, %part, 1024, %thread;
  cvt.u32.u64 %left, %words;
  sub.s32 %left, %left, %word;
  cvt.u64.u32 %at, %word;
  shl.b64 %at, %at, %shift;
  add.u64 %at, %at, %head;
  add.u64 %source, %from, %at;
  add.u64 %target, %to, %at;
  setp.ne.u32 %p, %shift, 4;
  @%p bra narrow;
  setp.gt.s32 %has0, %left, 0;
  setp.gt.s32 %has1, %left, 128;
  setp.gt.s32 %has2, %left, 256;
  setp.gt.s32 %has3, %left, 384;
  setp.gt.s32 %has4, %left, 512;
  setp.gt.s32 %has5, %left, 640;
  setp.gt.s32 %has6, %left, 768;
  setp.gt.s32 %has7, %left, 896;
  @%has0 ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%source];
  @%has1 ld.global.v4.u32 {%v4, %v5, %v6, %v7}, [%source+2048];
  @%has2 ld.global.v4.u32 {%v8, %v9, %v10, %v11}, [%source+4096];
  @%has3 ld.global.v4.u32 {%v12, %v13, %v14, %v15}, [%source+6144];
  @%has4 ld.global.v4.u32 {%v16, %v17, %v18, %v19}, [%source+8192];
  @%has5 ld.global.v4.u32 {%v20, %v21, %v22, %v23}, [%source+10240];
  @%has6 ld.global.v4.u32 {%v24, %v25, %v26, %v27}, [%source+12288];
  @%has7 ld.global.v4.u32 {%v28, %v29, %v30, %v31}, [%source+14336];
  @%has0 st.global.v4.u32 [%target], {%v0, %v1, %v2, %v3};
  @%has1 st.global.v4.u32 [%target+2048], {%v4, %v5, %v6, %v7};
  @%has2 st.global.v4.u32 [%target+4096], {%v8, %v9, %v10, %v11};
  @%has3 st.global.v4.u32 [%target+6144], {%v12, %v13, %v14, %v15};
  @%has4 st.global.v4.u32 [%target+8192], {%v16, %v17, %v18, %v19};
  @%has5 st.global.v4.u32 [%target+10240], {%v20, %v21, %v22, %v23};
  @%has6 st.global.v4.u32 [%target+12288], {%v24, %v25, %v26, %v27};
  @%has7 st.global.v4.u32 [%target+14336], {%v28, %v29, %v30, %v31};
  ret;

narrow:
  // %left: the number of words from there that belong to this part.
  sub.s32 %word, 1024, %thread;
  min.s32 %left, %left, %word;
  shl.b32 %stride, 128, %shift;
  cvt.u64.u32 %at, %stride;
next:
  setp.le.s32 %p, %left, 0;
  @%p bra done;
  setp.eq.u32 %has0, %shift, 0;
  setp.eq.u32 %has1, %shift, 1;
  setp.eq.u32 %has2, %shift, 2;
  setp.eq.u32 %has3, %shift, 3;
  @%has0 ld.global.u8 %byte, [%source];
  @%has0 st.global.u8 [%target], %byte;
  @%has1 ld.global.u16 %byte, [%source];
  @%has1 st.global.u16 [%target], %byte;
  @%has2 ld.global.u32 %word, [%source];
  @%has2 st.global.u32 [%target], %word;
  @%has3 ld.global.u64 %long, [%source];
  @%has3 st.global.u64 [%target], %long;
  add.u64 %source, %source, %at;
  add.u64 %target, %target, %at;
  sub.s32 %left, %left, 128;
  bra next;
done:
  ret;
)";

}  // namespace

std::string copy_ptx() { return join({begin, registers, arguments, code, "}\n"}); }
std::string copy_twin_ptx() {
  return join({twin_begin("flotilla_copy"), registers, twin_arguments, code, twin_end});
}

}  // namespace flotilla::dispatch::copy_kernels

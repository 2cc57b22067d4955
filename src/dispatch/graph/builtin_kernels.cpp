// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/builtin_kernels.hpp"

#include <string>
#include <utility>

namespace flotilla::dispatch {

namespace {

constexpr char simple_head[] = R"(
.version 7.0
.target sm_70
.address_size 64
)";

// The completion kernel stores with release semantics at system scope. So a host thread that has
// read the number also sees what earlier kernels wrote to the host's memory. For kernels on other
// devices, the spin kernel's acquire load pairs with the completion kernel's store. Each load of
// the spin kernel crosses the bus and takes a microsecond, so the spin kernel reads `stop` only in
// every 64th round.
constexpr char simple_code[] = R"(
.visible .entry flotilla_entry()
.maxntid 1
{
  ret;
}

.visible .entry flotilla_completion(.param .u64 counter, .param .u64 number)
.maxntid 1
{
  .reg .u64 %to, %value;
  ld.param.u64 %to, [counter];
  ld.param.u64 %value, [number];
  st.release.sys.global.u64 [%to], %value;
  ret;
}

.visible .entry flotilla_spin(.param .u64 counter, .param .u64 number, .param .u64 stop_flag)
.maxntid 1
{
  .reg .pred %p;
  .reg .u32 %looks, %rest;
  .reg .u64 %from, %wanted, %seen, %flag, %stop;
  ld.param.u64 %from, [counter];
  ld.param.u64 %wanted, [number];
  ld.param.u64 %flag, [stop_flag];
  mov.u32 %looks, 0;
again:
  ld.acquire.sys.global.u64 %seen, [%from];
  setp.ge.u64 %p, %seen, %wanted;
  @%p bra done;
  add.u32 %looks, %looks, 1;
  and.b32 %rest, %looks, 63;
  setp.ne.u32 %p, %rest, 0;
  @%p bra again;
  ld.relaxed.sys.global.u64 %stop, [%flag];
  setp.eq.u64 %p, %stop, 0;
  @%p bra again;
  trap;
done:
  ret;
}
)";

constexpr char updater_head[] = R"(
.version 8.4
.target sm_75
.address_size 64
.extern .func (.param .b32 answer) cudaGraphKernelNodeSetParam
  (.param .b64 node, .param .b64 offset, .param .b64 value, .param .b64 size);
.extern .func (.param .b32 answer) cudaGraphKernelNodeSetGridDim
  (.param .b64 node, .param .align 4 .b8 grid[12]);
.extern .func (.param .b32 answer) cudaGraphKernelNodeSetEnabled
  (.param .b64 node, .param .b32 enable);
)";

// This kernel copies the records of node_records into the nodes.
constexpr char updater_code[] = R"(
.visible .entry flotilla_update(.param .u64 records, .param .u32 count, .param .u32 stride)
{
  .reg .pred %p;
  .reg .u32 %index, %limit, %step, %bytes, %what, %bit, %x, %y, %z;
  .reg .u64 %base, %offset, %mine, %node, %arguments, %size;

  ld.param.u64 %base, [records];
  ld.param.u32 %limit, [count];
  ld.param.u32 %step, [stride];
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ntid.x;
  mov.u32 %z, %tid.x;
  mad.lo.u32 %index, %x, %y, %z;
  setp.ge.u32 %p, %index, %limit;
  @%p bra done;
  mul.wide.u32 %offset, %index, %step;
  add.u64 %mine, %base, %offset;
  ld.global.u64 %node, [%mine];
  ld.global.u32 %what, [%mine+8];

  and.b32 %bit, %what, 1;
  setp.eq.u32 %p, %bit, 0;
  @%p bra shape;
  ld.global.u32 %bytes, [%mine+24];
  add.u64 %arguments, %mine, 32;
  cvt.u64.u32 %size, %bytes;
  {
    .param .b64 node;
    .param .b64 offset;
    .param .b64 value;
    .param .b64 size;
    .param .b32 answer;
    st.param.b64 [node], %node;
    st.param.b64 [offset], 0;
    st.param.b64 [value], %arguments;
    st.param.b64 [size], %size;
    call.uni (answer), cudaGraphKernelNodeSetParam, (node, offset, value, size);
  }

shape:
  and.b32 %bit, %what, 2;
  setp.eq.u32 %p, %bit, 0;
  @%p bra enabling;
  ld.global.u32 %x, [%mine+12];
  ld.global.u32 %y, [%mine+16];
  ld.global.u32 %z, [%mine+20];
  {
    .param .b64 node;
    .param .align 4 .b8 grid[12];
    .param .b32 answer;
    st.param.b64 [node], %node;
    st.param.b32 [grid+0], %x;
    st.param.b32 [grid+4], %y;
    st.param.b32 [grid+8], %z;
    call.uni (answer), cudaGraphKernelNodeSetGridDim, (node, grid);
  }

enabling:
  and.b32 %bit, %what, 4;
  setp.eq.u32 %p, %bit, 0;
  @%p bra done;
  and.b32 %bit, %what, 8;
  shr.u32 %bit, %bit, 3;
  {
    .param .b64 node;
    .param .b32 enable;
    .param .b32 answer;
    st.param.b64 [node], %node;
    st.param.b32 [enable], %bit;
    call.uni (answer), cudaGraphKernelNodeSetEnabled, (node, enable);
  }

done:
  ret;
}
)";

}  // namespace

bool builtin_kernels::load(context::context_handle const& context, char const* code) noexcept {
  driver::table const& api = context.api();
  if (api.module_load_data(&module_, code) != CUDA_SUCCESS) {
    module_ = nullptr;
    return false;
  }
  if (api.module_get_function(&functions_.completion, module_, "flotilla_completion") ==
          CUDA_SUCCESS &&
      api.module_get_function(&functions_.entry, module_, "flotilla_entry") == CUDA_SUCCESS &&
      api.module_get_function(&functions_.spin, module_, "flotilla_spin") == CUDA_SUCCESS) {
    return true;
  }
  destroy(context);
  return false;
}

void builtin_kernels::create(context::context_handle const& context) noexcept {
  if (context.where().kind == device_kind::cpu) { return; }
  try {
    // Compiling PTX takes some milliseconds for each module. So all kernels are in one module if
    // the driver accepts the updating kernel.
    if (load(context, (std::string{updater_head} + simple_code + updater_code).c_str())) {
      if (context.api().module_get_function(&functions_.update, module_, "flotilla_update") !=
          CUDA_SUCCESS) {
        functions_.update = nullptr;
      }
      return;
    }
    static_cast<void>(load(context, (std::string{simple_head} + simple_code).c_str()));
  } catch (std::bad_alloc const&) {}  // without memory for the text there are no kernels
}

void builtin_kernels::destroy(context::context_handle const& context) noexcept {
  functions_ = {};
  if (module_ != nullptr) { context.api().module_unload(std::exchange(module_, nullptr)); }
}

}  // namespace flotilla::dispatch

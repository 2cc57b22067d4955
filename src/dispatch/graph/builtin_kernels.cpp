#include "dispatch/own_kernels.hpp"

#include <string>
#include <utility>

namespace flotilla::dispatch {

namespace {

constexpr char simple_head[] = R"(
.version 7.0
.target sm_70
.address_size 64
)";

// Of the marker: the release at system scope is what lets the host, once it has read the number, read what the kernels
// before wrote to its memory; and a kernel behind the awaiter, whose acquire is the other side. The awaiter reads over the bus,
// a microsecond a look, so it asks seldom whether all is over.
constexpr char simple_code[] = R"(
.visible .entry flotilla_begin()
.maxntid 1
{
  ret;
}

.visible .entry flotilla_end(.param .u64 counter, .param .u64 number)
.maxntid 1
{
  .reg .u64 %to, %value;
  ld.param.u64 %to, [counter];
  ld.param.u64 %value, [number];
  st.release.sys.global.u64 [%to], %value;
  ret;
}

.visible .entry flotilla_await(.param .u64 counter, .param .u64 number, .param .u64 stopped)
.maxntid 1
{
  .reg .pred %p;
  .reg .u32 %looks, %rest;
  .reg .u64 %from, %wanted, %seen, %flag, %stop;
  ld.param.u64 %from, [counter];
  ld.param.u64 %wanted, [number];
  ld.param.u64 %flag, [stopped];
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

// See node_record for what it reads.
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

bool own_kernels::load(context::floating_context const& context, char const* code) noexcept {
  driver::table const& api = context.api();
  if (api.module_load_data(&module_, code) != CUDA_SUCCESS) {
    module_ = nullptr;
    return false;
  }
  if (api.module_get_function(&functions_.marker, module_, "flotilla_end") == CUDA_SUCCESS &&
      api.module_get_function(&functions_.root, module_, "flotilla_begin") == CUDA_SUCCESS &&
      api.module_get_function(&functions_.awaiter, module_, "flotilla_await") == CUDA_SUCCESS) {
    return true;
  }
  destroy(context);
  return false;
}

void own_kernels::create(context::floating_context const& context) noexcept {
  if (context.where().kind == device_kind::cpu) {
    if (on_cpu_devices != nullptr) { functions_ = on_cpu_devices(context); }
    return;
  }
  // In one piece where the driver takes it: to compile PTX takes some ms, and to compile it twice twice as long.
  try {
    if (load(context, (std::string{updater_head} + simple_code + updater_code).c_str())) {
      if (context.api().module_get_function(&functions_.updater, module_, "flotilla_update") != CUDA_SUCCESS) { functions_.updater = nullptr; }
      return;
    }
    static_cast<void>(load(context, (std::string{simple_head} + simple_code).c_str()));
  } catch (std::bad_alloc const&) {}  // then there are none
}

void own_kernels::destroy(context::floating_context const& context) noexcept {
  functions_ = {};
  if (module_ != nullptr) { context.api().module_unload(std::exchange(module_, nullptr)); }
}

}  // namespace flotilla::dispatch

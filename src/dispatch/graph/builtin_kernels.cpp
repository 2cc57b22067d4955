// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/builtin_kernels.hpp"

#include <string>
#include <utility>

#include <flotilla/detail/kernel_twin.hpp>

#include "dispatch/graph/copy_kernels.hpp"

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
// every 64th round. In the exchange kernel, each thread waits for one part; the thread of the own
// part needs nothing.
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

.visible .entry flotilla_exchange(.param .u64 words, .param .u64 base_at, .param .u32 own,
                                  .param .u32 level, .param .align 4 .b8 needs[128])
.maxntid 32
{
  .reg .pred %p;
  .reg .u32 %me, %number;
  .reg .u64 %word, %base, %value, %seen, %offset;
  mov.u32 %me, %tid.x;
  ld.param.u64 %word, [words];
  mul.wide.u32 %offset, %me, 64;
  add.u64 %word, %word, %offset;
  ld.param.u64 %base, [base_at];
  ld.global.u64 %base, [%base];
  ld.param.u32 %number, [level];
  cvt.u64.u32 %value, %number;
  add.u64 %value, %base, %value;
  ld.param.u32 %number, [own];
  setp.eq.u32 %p, %me, %number;
  @%p st.release.sys.global.u64 [%word], %value;
  mul.wide.u32 %offset, %me, 4;
  mov.u64 %value, needs;
  add.u64 %value, %value, %offset;
  ld.param.u32 %number, [%value];
  setp.eq.u32 %p, %number, 0;
  @%p bra done;
  sub.u32 %number, %number, 1;
  cvt.u64.u32 %value, %number;
  add.u64 %value, %base, %value;
again:
  ld.acquire.sys.global.u64 %seen, [%word];
  setp.lt.u64 %p, %seen, %value;
  @%p bra again;
done:
  ret;
}
)";

}  // namespace

bool builtin_kernels::load(context::context_handle const& context, std::string const& code) {
  driver::table const& api = context.api();
  if (api.module_load_data(&module_, code.c_str()) != CUDA_SUCCESS) {
    module_ = nullptr;
    return false;
  }
  auto const find = [&](CUfunction& found, std::string const& name) {
    bool const is_there = api.module_get_function(&found, module_, name.c_str()) == CUDA_SUCCESS;
    if (!is_there) { found = nullptr; }
    return is_there;
  };
  bool const has_all = find(functions_.completion, "flotilla_completion") &&
                       find(functions_.entry, "flotilla_entry") &&
                       find(functions_.spin, "flotilla_spin") &&
                       find(functions_.exchange, "flotilla_exchange");
  if (!has_all) {
    destroy(context);
    return false;
  }
  // The driver may have refused the code of the others (see `create`).
  std::string const twin{detail::twin_suffix};
  find(functions_.copy, "flotilla_copy");
  find(functions_.copy_twin, "flotilla_copy" + twin);
  find(functions_.fill, "flotilla_fill");
  find(functions_.fill_twin, "flotilla_fill" + twin);
  return true;
}

void builtin_kernels::create(context::context_handle const& context) noexcept {
  if (context.where().kind == device_kind::cpu) { return; }
  try {
    // Compiling PTX takes some milliseconds for each module. So all kernels are in one module if
    // the driver accepts those that copy and fill.
    using namespace copy_kernels;
    std::string simple = simple_head;
    simple += simple_code;
    static_cast<void>(
        load(context, simple + copy_ptx() + copy_twin_ptx() + fill_ptx() + fill_twin_ptx()) ||
        load(context, simple));
  } catch (std::bad_alloc const&) {}  // without memory for the text there are no kernels
}

void builtin_kernels::destroy(context::context_handle const& context) noexcept {
  functions_ = {};
  if (module_ != nullptr) { context.api().module_unload(std::exchange(module_, nullptr)); }
}

}  // namespace flotilla::dispatch

#include "dispatch/end_marker.hpp"

#include <utility>

namespace flotilla::dispatch {

namespace {

// As PTX, so that it is there however the library was built. The release at system scope is what lets the host, once it
// has read the number, read what the kernels before wrote to its memory.
constexpr char code[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry flotilla_end(.param .u64 counter, .param .u64 number)
.maxntid 1
{
  .reg .u64 %to, %value;
  ld.param.u64 %to, [counter];
  ld.param.u64 %value, [number];
  st.release.sys.global.u64 [%to], %value;
  ret;
}
)";

}  // namespace

void end_marker::create(context::floating_context const& context) noexcept {
  driver::table const& api = context.api();
  if (api.module_load_data(&module_, code) != CUDA_SUCCESS) {
    module_ = nullptr;
    return;
  }
  if (api.module_get_function(&function_, module_, "flotilla_end") != CUDA_SUCCESS) { destroy(context); }
}

void end_marker::destroy(context::floating_context const& context) noexcept {
  function_ = nullptr;
  if (module_ != nullptr) { context.api().module_unload(std::exchange(module_, nullptr)); }
}

}  // namespace flotilla::dispatch

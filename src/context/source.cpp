// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/source.hpp"

#include <utility>

#include "context/flags.hpp"
#include "context/primary_holders.hpp"
#include "context/registry.hpp"
#include "driver/check.hpp"
#include "driver/device_recovery.hpp"

namespace flotilla::context {

namespace {

using driver::check;

/// Appends to `subject` the reason why the driver created no context, if it is known: the state of
/// an isolated device, or the compute mode.
std::string with_compute_mode(driver::table const& api, CUdevice device, std::string subject) {
  if (api.recovery != nullptr) {
    std::string const why = api.recovery->reason(device);
    if (!why.empty()) { return subject + ", which is isolated: " + why; }
  }
  int mode = CU_COMPUTEMODE_DEFAULT;
  if (api.device_get_attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device) != CUDA_SUCCESS) {
    return subject;
  }
  if (mode == CU_COMPUTEMODE_PROHIBITED) {
    return subject +
           ", whose compute mode prohibits contexts (run nvidia-smi -c DEFAULT to permit contexts)";
  }
  if (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) {
    return subject +
           ", whose compute mode is exclusive: another process may be using the device "
           "(run nvidia-smi -c DEFAULT to permit several processes)";
  }
  return subject;
}

class owned_source final : public source {
 public:
  owned_source(driver::table const& api, CUdevice device, request const& asked,
               std::string const& subject, rejected_settings& into)
      : api_(api) {
    unsigned const flags = flags_of(asked.settings);
    if (asked.settings.exec_affinity) {
      CUresult const answer = create_limited(device, flags, *asked.settings.exec_affinity);
      rejection_policy{subject, asked.best_effort}.check(answer, "cuCtxCreate", "exec_affinity",
                                                         asked.settings, into);
    }
    if (handle_ == nullptr) {
      // cuCtxCreate_v2 is sufficient. Newer versions only add parameters that are not needed here.
      check(api.ctx_create(&handle_, flags, device), "cuCtxCreate",
            [&] { return with_compute_mode(api, device, subject); });
    }
    // cuCtxCreate has also pushed the context onto this thread's stack.
    CUcontext popped = nullptr;
    if (CUresult const answer = api.ctx_pop_current(&popped); answer != CUDA_SUCCESS) {
      api.ctx_destroy(std::exchange(handle_, nullptr));
      check(answer, "cuCtxPopCurrent", subject);
    }
  }

  CUresult give_up(char const*& call) noexcept override {
    call = "cuCtxDestroy";
    return api_.ctx_destroy(std::exchange(handle_, nullptr));
  }

 private:
  CUresult create_limited(CUdevice device, unsigned flags, unsigned multiprocessors) {
    CUexecAffinityParam limit{};
    limit.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    limit.param.smCount.val = multiprocessors;
    if (api_.ctx_create_v4 != nullptr) {
      CUctxCreateParams with{};
      with.execAffinityParams = &limit;
      with.numExecAffinityParams = 1;
      return api_.ctx_create_v4(&handle_, &with, flags, device);
    }
    if (api_.ctx_create_v3 != nullptr) {
      return api_.ctx_create_v3(&handle_, &limit, 1, flags, device);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
  }

  driver::table const& api_;
};

/// Sets the flags of an inactive primary context. put_back() restores the earlier flags after the
/// context has become inactive again.
class primary_flags {
 public:
  primary_flags(driver::table const& api, CUdevice device, device_settings const& asked,
                std::string const& subject)
      : api_(api), device_(device), holder_(device) {
    check(api.device_primary_ctx_get_state != nullptr
              ? api.device_primary_ctx_get_state(device, &found_, &active_)
              : CUDA_ERROR_NOT_SUPPORTED,
          "cuDevicePrimaryCtxGetState", subject);
    // A primary context always maps host memory. The driver of an H200 refuses CU_CTX_MAP_HOST.
    unsigned const wanted = flags_of(asked, found_) & ~unsigned{CU_CTX_MAP_HOST};
    // If the primary context is active, `apply` sets the flags later, in the context itself.
    if (active_ != 0 || wanted == found_) { return; }
    check(api.device_primary_ctx_set_flags != nullptr
              ? api.device_primary_ctx_set_flags(device, wanted)
              : CUDA_ERROR_NOT_SUPPORTED,
          "cuDevicePrimaryCtxSetFlags", subject);
    changed_ = true;
  }
  [[nodiscard]] bool was_active() const noexcept { return active_ != 0; }
  /// Restores the flags that the constructor found. Other code may have set these flags for a later
  /// primary context. Does nothing if the context was active when the constructor ran, or is active
  /// now.
  void put_back() noexcept {
    unsigned now = 0;
    int active = 0;
    if (found_ == 0 && !changed_) { return; }
    if (active_ == 0 && api_.device_primary_ctx_get_state(device_, &now, &active) == CUDA_SUCCESS &&
        active == 0 && now != found_) {
      static_cast<void>(api_.device_primary_ctx_set_flags(device_, found_));
    }
  }

 private:
  driver::table const& api_;
  CUdevice device_;
  primary_holder holder_;
  unsigned found_ = 0;
  int active_ = 0;
  bool changed_ = false;
};

class primary_source final : public source {
 public:
  primary_source(driver::table const& api, CUdevice device, request const& asked,
                 std::string const& subject)
      : api_(api), device_(device), flags_(api, device, asked.settings, subject) {
    CUresult const answer =
        api.device_primary_ctx_retain != nullptr && api.device_primary_ctx_release != nullptr
            ? api.device_primary_ctx_retain(&handle_, device)
            : CUDA_ERROR_NOT_SUPPORTED;
    if (answer != CUDA_SUCCESS) { flags_.put_back(); }
    check(answer, "cuDevicePrimaryCtxRetain",
          [&] { return with_compute_mode(api, device, subject); });
    // If the context was already active, other code uses it, so its settings are restored at the
    // end. Otherwise they are not: code that retains the context later gets flotilla's settings.
    shared_ = flags_.was_active();
  }

  CUresult give_up(char const*& call) noexcept override {
    call = "cuDevicePrimaryCtxRelease";
    handle_ = nullptr;
    CUresult const answer = api_.device_primary_ctx_release(device_);
    flags_.put_back();
    return answer;
  }

 private:
  driver::table const& api_;
  CUdevice device_;
  primary_flags flags_;
};

class adopted_source final : public source {
 public:
  adopted_source(driver::table const& api, CUdevice device, CUcontext handle,
                 std::string const& subject) {
    auto const refuse = [&](std::string const& why) {
      throw invalid_argument(subject + ": the context to adopt " + why);
    };
    if (handle == nullptr) { refuse("is null"); }
    if (auto const whose = registry::owner(handle)) {
      refuse("already belongs to flotilla: it is the context of " + *whose);
    }
    unsigned version = 0;
    if (CUresult const answer = api.ctx_get_api_version(handle, &version); answer != CUDA_SUCCESS) {
      refuse(
          "is unknown to the driver: it was destroyed or belongs to another driver "
          "(cuCtxGetApiVersion returned " +
          to_string(driver::status_of(answer)) + ")");
    }
    if (CUresult const answer = api.ctx_push_current(handle); answer != CUDA_SUCCESS) {
      refuse("cannot be made current (cuCtxPushCurrent returned " +
             to_string(driver::status_of(answer)) + ")");
    }
    CUdevice where = -1;
    CUresult const answer = api.ctx_get_device(&where);
    CUcontext popped = nullptr;
    api.ctx_pop_current(&popped);
    if (answer != CUDA_SUCCESS) {
      refuse("has no known device (cuCtxGetDevice returned " +
             to_string(driver::status_of(answer)) + ")");
    }
    if (where != device) {
      refuse("belongs to another device (number " + std::to_string(where) + " of the driver)");
    }
    handle_ = handle;
    shared_ = true;
  }

  CUresult give_up(char const*& call) noexcept override {
    call = "";  // no call: the owner destroys the context
    handle_ = nullptr;
    return CUDA_SUCCESS;
  }
};

class green_source final : public source {
 public:
  green_source(driver::table const& api, CUdevice device, request const& asked,
               std::string const& subject)
      : api_(api), flags_(api, device, asked.settings, subject) {
    auto const failed = [&](CUresult answer, char const* call) {
      if (answer == CUDA_SUCCESS) { return; }
      if (green_ != nullptr) { api.green_ctx_destroy(std::exchange(green_, nullptr)); }
      flags_.put_back();
      check(answer, call, [&] { return with_compute_mode(api, device, subject); });
    };
    bool const all = api.dev_resource_generate_desc != nullptr && api.green_ctx_create != nullptr &&
                     api.green_ctx_destroy != nullptr && api.ctx_from_green_ctx != nullptr;
    failed(all && asked.slice ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED, "cuGreenCtxCreate");
    CUdevResource slice = *asked.slice;
    CUdevResourceDesc description = nullptr;
    failed(api.dev_resource_generate_desc(&description, &slice, 1), "cuDevResourceGenerateDesc");
    failed(api.green_ctx_create(&green_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
           "cuGreenCtxCreate");
    failed(api.ctx_from_green_ctx(&handle_, green_), "cuCtxFromGreenCtx");
    shared_ = flags_.was_active();
  }

  CUresult give_up(char const*& call) noexcept override {
    call = "cuGreenCtxDestroy";
    handle_ = nullptr;
    CUresult const answer = api_.green_ctx_destroy(std::exchange(green_, nullptr));
    flags_.put_back();
    return answer;
  }

 private:
  driver::table const& api_;
  primary_flags flags_;  // a green context shares the flags of the primary context
  CUgreenCtx green_ = nullptr;
};

}  // namespace

std::unique_ptr<source> make_source(driver::table const& api, CUdevice device, request const& asked,
                                    std::string const& subject, rejected_settings& into) {
  context_source const from = asked.settings.context.value_or(context_source::owned());
  if (from.kind != context_source::kinds::owned && asked.settings.exec_affinity) {
    throw invalid_argument(
        subject +
        ": setting 'exec_affinity' requires an owned context, but the context source is " +
        to_string(from));
  }
  switch (from.kind) {
    case context_source::kinds::owned:
      return std::make_unique<owned_source>(api, device, asked, subject, into);
    case context_source::kinds::primary:
      return std::make_unique<primary_source>(api, device, asked, subject);
    case context_source::kinds::adopted:
      return std::make_unique<adopted_source>(api, device, from.handle, subject);
    case context_source::kinds::green:
      return std::make_unique<green_source>(api, device, asked, subject);
  }
  throw invalid_argument(subject + ": unknown context source " + to_string(from));
}

}  // namespace flotilla::context

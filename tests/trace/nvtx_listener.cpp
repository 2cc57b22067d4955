// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A tool that listens to NVTX, as Nsight Systems does: NVTX loads it if NVTX_INJECTION64_PATH names
// it. It prints each range of the domain "flotilla" on stderr.
#include <cstdio>
#include <cstring>

#include <nvtx3/nvToolsExt.h>

namespace {

int flotilla_domain;  // only its address is used
int depth = 0;        // of the ranges of the test's only device

nvtxDomainHandle_t create(char const* name) {
  return std::strcmp(name, "flotilla") == 0 ? reinterpret_cast<nvtxDomainHandle_t>(&flotilla_domain)
                                            : nullptr;
}

int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* what) {
  if (domain != reinterpret_cast<nvtxDomainHandle_t>(&flotilla_domain)) { return -1; }
  std::fprintf(stderr, "range %s\n", what->message.ascii);
  return depth++;
}

int pop(nvtxDomainHandle_t) {
  std::fprintf(stderr, "end\n");
  return --depth;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  auto const* const callbacks =
      static_cast<NvtxExportTableCallbacks const*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  auto const set = [&](unsigned index, auto function) {
    if (index < size) { *table[index] = reinterpret_cast<NvtxFunctionPointer>(function); }
  };
  set(NVTX_CBID_CORE2_DomainCreateA, &create);
  set(NVTX_CBID_CORE2_DomainRangePushEx, &push);
  set(NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// image_project_test.cmake writes the header, which is included only for one architecture.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#include "only_for_90.h"
#else
#define NUMBER 1
#endif

extern "C" __global__ void write_number(int* out) { out[blockIdx.x] = NUMBER; }
extern "C" __global__ void unwanted(int* out) { out[blockIdx.x] = 2; }
FLOTILLA_NO_TWIN(unwanted);
#ifdef MISSPELLED
FLOTILLA_NO_TWIN(unwantet);
#endif

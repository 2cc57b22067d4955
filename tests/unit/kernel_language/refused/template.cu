// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: template.cu:6: error: kernel scale is a template
template <class T>
__global__ void scale(T* data) { *data *= 2; }

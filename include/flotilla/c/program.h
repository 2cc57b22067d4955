/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_PROGRAM_H
#define FLOTILLA_C_PROGRAM_H
/** Programs and kernels. */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

/** Compiled kernels in memory. The bytes must stay as long as a runtime uses them. */
typedef struct flotilla_image {
  size_t size;      /**< sizeof(flotilla_image) */
  char const* name; /**< used in texts of errors; not null */
  /** A fatbin, a cubin, or PTX text that ends with a zero byte; or null. */
  void const* gpu;
  size_t gpu_bytes;
  /** A CPU image, as flotilla_add_kernels() makes it; or null. */
  void const* cpu;
  size_t cpu_bytes;
  /** Null, or the names of the kernels of an image that has no code for CPU devices: an array that
   * ends with a null pointer. */
  char const* const* gpu_only;
} flotilla_image;

#define FLOTILLA_IMAGE_INIT \
  { sizeof(flotilla_image), "", NULL, 0, NULL, 0, NULL }

/** Loads an image on every device of a runtime, with all its kernels.
 * @return FLOTILLA_BAD_IMAGE  The image has no code for these devices, or the driver refuses it. */
FLOTILLA_C_EXPORT flotilla_status flotilla_program_load(flotilla_runtime rt,
                                                        flotilla_image const* image,
                                                        flotilla_program* made);

/** Loads a file on every device: a cubin, fatbin or PTX file for GPUs, a CPU image for CPU devices.
 * @return FLOTILLA_BAD_IMAGE  The file is missing, unreadable, or has another format. */
FLOTILLA_C_EXPORT flotilla_status flotilla_program_load_file(flotilla_runtime rt, char const* path,
                                                             flotilla_program* made);

/** How flotilla_program_compile() compiles. docs/compile.md describes the options. A null pointer
 * means none or the default. A list ends with a null pointer. */
typedef struct flotilla_compile_options {
  size_t size;                /**< sizeof(flotilla_compile_options) */
  char const* name;           /**< of the source, in errors; default "kernels.cu" */
  char const* const* defines; /**< "NAME" or "NAME=VALUE" */
  char const* const* include_directories;
  char const* const* name_expressions; /**< instances of templates, such as "scale<float>" */
  char const* const* gpu_options;      /**< more options for NVRTC */
  char const* const* cpu_options;      /**< more options for the C++ compiler */
  int standard;                        /**< of C++: 17 or 20; 0: the default, 20 */
  int fast_math;                       /**< not 0: less precise, faster arithmetic */
  int no_twins;                        /**< not 0: no twins for GPUs */
  int no_cache;                        /**< not 0: the cache on disk is not used */
  char const* cache_directory;
  size_t cache_bytes;       /**< the limit of the cache; 0: the default, 256 MiB */
  char const* cpu_compiler; /**< the path of a C++ compiler */
  char const* nvrtc;        /**< the path of NVRTC's library */
  uint64_t timeout_ns;      /**< 0: the default, 120 s. Rounded up to milliseconds. */
  /** Null, or memory of `log_bytes` bytes for what the compiler says if the source does not compile.
   * The text ends with a zero byte, and is cut off if it is too long. After a success it is empty. */
  char* log;
  size_t log_bytes;
} flotilla_compile_options;

#define FLOTILLA_COMPILE_OPTIONS_INIT                                                          \
  {                                                                                            \
    sizeof(flotilla_compile_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, 0, \
        NULL, NULL, 0, NULL, 0                                                                 \
  }

/** Compiles a source for the devices of a runtime, and loads it: with NVRTC for GPUs, and with a C++
 * compiler of this machine for CPU devices. Blocks until the compiler has finished.
 * @param options  Null: the defaults.
 * @return FLOTILLA_COMPILE_ERROR     The source does not compile, or has no kernel.
 *         FLOTILLA_NO_COMPILER       There is no NVRTC or no C++ compiler.
 *         FLOTILLA_INVALID_ARGUMENT  An option is wrong. The text names it.
 *         FLOTILLA_TIMED_OUT         The compiler took longer than `timeout_ns`. */
FLOTILLA_C_EXPORT flotilla_status flotilla_program_compile(flotilla_runtime rt, char const* source,
                                                           flotilla_compile_options const* options,
                                                           flotilla_program* made);

/** Gets a kernel of a program: for each name always the same handle. A kernel with a parameter of
 * type flotilla::task_status cannot be launched from C.
 * @return FLOTILLA_UNKNOWN_SYMBOL    The text of the error lists the kernels of the program.
 *         FLOTILLA_INVALID_ARGUMENT  The kernel has more than 4096 bytes of parameters.
 *         FLOTILLA_GPU_ONLY_KERNEL */
FLOTILLA_C_EXPORT flotilla_status flotilla_program_kernel(flotilla_program program,
                                                          char const* name, flotilla_kernel* found);

/** Gets the number of parameters of a kernel. */
FLOTILLA_C_EXPORT flotilla_status flotilla_kernel_parameter_count(flotilla_kernel kernel,
                                                                  size_t* count);

/** Gets the size in bytes of the parameter with this index.
 * @return FLOTILLA_INVALID_ARGUMENT  The kernel has fewer parameters. */
FLOTILLA_C_EXPORT flotilla_status flotilla_kernel_parameter_bytes(flotilla_kernel kernel,
                                                                  size_t index, size_t* bytes);

/** Copy to or from the start of a __device__ or __constant__ variable. Each device has its own copy
 * of the variable. The functions return when the copy is done. They do not wait for tasks that use
 * the variable. The pointer to the host's memory must not be null.
 * @return FLOTILLA_UNKNOWN_SYMBOL, FLOTILLA_UNKNOWN_DEVICE
 *         FLOTILLA_INVALID_ARGUMENT  The variable has fewer bytes. */
FLOTILLA_C_EXPORT flotilla_status flotilla_program_write_global(flotilla_program program,
                                                                unsigned device, char const* name,
                                                                void const* from, size_t bytes);
FLOTILLA_C_EXPORT flotilla_status flotilla_program_read_global(flotilla_program program,
                                                               unsigned device, char const* name,
                                                               void* to, size_t bytes);

FLOTILLA_C_END

#endif

/* SPDX-FileCopyrightText: The flotilla authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOTILLA_C_DEVICE_H
#define FLOTILLA_C_DEVICE_H
/** The devices of a runtime: properties, memory, settings and counters. The devices have the
 * ordinals 0, 1, and so on. A function that gets another ordinal returns FLOTILLA_UNKNOWN_DEVICE.
 */

#include <stddef.h>
#include <stdint.h>

#include <flotilla/c/export.h>
#include <flotilla/c/handles.h>
#include <flotilla/c/status.h>

FLOTILLA_C_BEGIN

typedef enum flotilla_device_kind { FLOTILLA_GPU = 0, FLOTILLA_CPU = 1 } flotilla_device_kind;

/** The properties of a device. They do not change. The strings are valid until the runtime ends. */
typedef struct flotilla_device_info {
  size_t size; /**< sizeof(flotilla_device_info) */
  flotilla_device_kind kind;
  int driver_ordinal;  /**< the driver's own number, from 0 */
  char const* name;    /**< such as "NVIDIA H200" */
  char const* uuid;    /**< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "CPU-…" */
  char const* pci_id;  /**< "domain:bus:device.function" */
  int numa_node;       /**< -1 if unknown */
  int multiprocessors; /**< the number that the device may use */
  size_t memory_bytes; /**< total memory of the device */
} flotilla_device_info;

#define FLOTILLA_DEVICE_INFO_INIT \
  { sizeof(flotilla_device_info), FLOTILLA_GPU, 0, NULL, NULL, NULL, -1, 0, 0 }

/** Gets the number of devices of a runtime. */
FLOTILLA_C_EXPORT flotilla_status flotilla_device_count(flotilla_runtime rt, unsigned* count);

/** Gets the properties of a device. */
FLOTILLA_C_EXPORT flotilla_status flotilla_get_device(flotilla_runtime rt, unsigned device,
                                                      flotilla_device_info* info);

/** Gets the free and total memory of a device in bytes, as the driver reports it. Either pointer
 * may be null. */
FLOTILLA_C_EXPORT flotilla_status flotilla_get_memory(flotilla_runtime rt, unsigned device,
                                                      size_t* free_bytes, size_t* total_bytes);

typedef enum flotilla_setting_outcome {
  FLOTILLA_SETTING_BY_DEFAULT = 0, /**< not requested */
  FLOTILLA_SETTING_GRANTED = 1,
  FLOTILLA_SETTING_ADJUSTED = 2, /**< the driver rounded or clamped the value */
  FLOTILLA_SETTING_NO_EFFECT = 3,
  FLOTILLA_SETTING_REFUSED = 4
} flotilla_setting_outcome;

/** One setting of a device. The strings are valid until the runtime ends. */
typedef struct flotilla_setting {
  size_t size;           /**< sizeof(flotilla_setting) */
  char const* name;      /**< such as "limits.stack" */
  char const* requested; /**< empty if the setting was not requested */
  char const* granted;   /**< read back from the driver; empty if the driver lacks the setting */
  flotilla_setting_outcome outcome;
  char const* note; /**< why the value differs; may be empty */
} flotilla_setting;

#define FLOTILLA_SETTING_INIT \
  { sizeof(flotilla_setting), NULL, NULL, NULL, FLOTILLA_SETTING_BY_DEFAULT, NULL }

/** Gets a setting of a device by its name (docs/settings.md).
 * @return FLOTILLA_UNKNOWN_SETTING */
FLOTILLA_C_EXPORT flotilla_status flotilla_get_setting(flotilla_runtime rt, unsigned device,
                                                       char const* name, flotilla_setting* setting);

/** Whether a device makes progress. The comments of flotilla::device_health in
 * <flotilla/device/health.hpp> have the details. */
typedef enum flotilla_health {
  FLOTILLA_HEALTH_OK = 0,
  /** Launched work has not ended for longer than flotilla_runtime_options::stuck_after_ns. */
  FLOTILLA_HEALTH_STUCK = 1,
  FLOTILLA_HEALTH_FAULTED = 2,    /**< the runtime is poisoned */
  FLOTILLA_HEALTH_RESTARTING = 3, /**< an isolated device gets another worker process */
  FLOTILLA_HEALTH_QUARANTINED = 4, /**< an isolated device was lost too often */
  FLOTILLA_HEALTH_RETIRED = 5      /**< the driver refused cuCtxPopCurrent; the device is not used */
} flotilla_health;

/** Gets the health of a device. */
FLOTILLA_C_EXPORT flotilla_status flotilla_get_health(flotilla_runtime rt, unsigned device,
                                                      flotilla_health* health);

/** Counters of a device. They never decrease. */
typedef struct flotilla_counters {
  size_t size;         /**< sizeof(flotilla_counters) */
  uint64_t tasks;      /**< ended tasks, including failed tasks */
  uint64_t failed;     /**< failed tasks */
  uint64_t batches;    /**< batches that were launched */
  uint64_t pushes;     /**< how often the context was made current on a thread */
  uint64_t migrations; /**< how often another thread took over the device */
  uint64_t callables;  /**< functions of tasks that ran */
  uint64_t pulled;     /**< tasks that named no device and that this device took */
} flotilla_counters;

#define FLOTILLA_COUNTERS_INIT \
  { sizeof(flotilla_counters), 0, 0, 0, 0, 0, 0, 0 }

/** Gets the counters of a device. Also retires ended tasks, so that they are counted. */
FLOTILLA_C_EXPORT flotilla_status flotilla_get_counters(flotilla_runtime rt, unsigned device,
                                                        flotilla_counters* counters);

FLOTILLA_C_END

#endif

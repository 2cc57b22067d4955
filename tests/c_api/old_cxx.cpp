// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Compiled as C++98 and as C++11: initialises each struct of the C interface, and uses the inline
// functions.

#include <flotilla/flotilla.h>

flotilla_status use_everything(flotilla_runtime rt, flotilla_kernel kernel, flotilla_buffer buffer);

flotilla_status use_everything(flotilla_runtime rt, flotilla_kernel kernel,
                               flotilla_buffer buffer) {
  flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
  flotilla_device_info device = FLOTILLA_DEVICE_INFO_INIT;
  flotilla_setting setting = FLOTILLA_SETTING_INIT;
  flotilla_counters counters = FLOTILLA_COUNTERS_INIT;
  flotilla_image image = FLOTILLA_IMAGE_INIT;
  flotilla_task_options task = FLOTILLA_TASK_OPTIONS_INIT;
  flotilla_transport via = FLOTILLA_TRANSPORT_INIT;
  flotilla_cluster_counters moved = FLOTILLA_CLUSTER_COUNTERS_INIT;
  flotilla_error_details details = FLOTILLA_ERROR_DETAILS_INIT;
  int const count = options.workers + device.numa_node + setting.outcome + task.device + via.rank;
  flotilla_argument arguments[2];
  arguments[0] = flotilla_address(buffer, 0);
  arguments[1] = FLOTILLA_VALUE(count);
  details.item = counters.size + image.size + moved.size;
  flotilla_last_error_details(&details);
  flotilla_submit_copy(flotilla_in_buffer(buffer, 0), flotilla_on_host(&count), sizeof count, &task,
                       NULL);
  flotilla_wait_idle(rt);
  return flotilla_submit_launch(kernel, flotilla_over(1000, 256), arguments, 2, NULL, NULL);
}

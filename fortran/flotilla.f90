! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
!
! The interface of flotilla for Fortran 2018. docs/fortran.md has an introduction, and the headers in
! include/flotilla/c describe each function. fortran/make_module has written this file.
module flotilla
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int), parameter, public :: flotilla_success = 0
  integer(c_int), parameter, public :: flotilla_invalid_argument = 1
  integer(c_int), parameter, public :: flotilla_invalid_handle = 2
  integer(c_int), parameter, public :: flotilla_no_device = 3
  integer(c_int), parameter, public :: flotilla_unknown_device = 4
  integer(c_int), parameter, public :: flotilla_unknown_symbol = 5
  integer(c_int), parameter, public :: flotilla_unknown_setting = 6
  integer(c_int), parameter, public :: flotilla_bad_image = 7
  integer(c_int), parameter, public :: flotilla_gpu_only_kernel = 8
  integer(c_int), parameter, public :: flotilla_wrong_runtime = 9
  integer(c_int), parameter, public :: flotilla_missing_dependency = 10
  integer(c_int), parameter, public :: flotilla_runtime_closed = 11
  integer(c_int), parameter, public :: flotilla_window_full = 12
  integer(c_int), parameter, public :: flotilla_would_deadlock = 13
  integer(c_int), parameter, public :: flotilla_dependency_failed = 14
  integer(c_int), parameter, public :: flotilla_bulk_failed = 15
  integer(c_int), parameter, public :: flotilla_task_cancelled = 16
  integer(c_int), parameter, public :: flotilla_task_failed = 17
  integer(c_int), parameter, public :: flotilla_poisoned = 18
  integer(c_int), parameter, public :: flotilla_used_after_fork = 19
  integer(c_int), parameter, public :: flotilla_driver_error = 20
  integer(c_int), parameter, public :: flotilla_out_of_memory = 21
  integer(c_int), parameter, public :: flotilla_still_used = 22
  integer(c_int), parameter, public :: flotilla_other_error = 23
  integer(c_int), parameter, public :: flotilla_timed_out = 24
  integer(c_int), parameter, public :: flotilla_compile_error = 25
  integer(c_int), parameter, public :: flotilla_no_compiler = 26
  integer(c_int), parameter, public :: flotilla_trace_failed = 27
  integer(c_int), parameter, public :: flotilla_device_fault = 28
  integer(c_int), parameter, public :: flotilla_remote_error = 29
  integer(c_int), parameter, public :: flotilla_rank_failed = 30
  integer(c_int), parameter, public :: flotilla_automatic = -1
  integer(c_int), parameter, public :: flotilla_gpu = 0
  integer(c_int), parameter, public :: flotilla_cpu = 1
  integer(c_int), parameter, public :: flotilla_setting_by_default = 0
  integer(c_int), parameter, public :: flotilla_setting_granted = 1
  integer(c_int), parameter, public :: flotilla_setting_adjusted = 2
  integer(c_int), parameter, public :: flotilla_setting_no_effect = 3
  integer(c_int), parameter, public :: flotilla_setting_refused = 4
  integer(c_int), parameter, public :: flotilla_health_ok = 0
  integer(c_int), parameter, public :: flotilla_health_stuck = 1
  integer(c_int), parameter, public :: flotilla_health_faulted = 2
  integer(c_int), parameter, public :: flotilla_health_restarting = 3
  integer(c_int), parameter, public :: flotilla_health_quarantined = 4
  integer(c_int), parameter, public :: flotilla_health_retired = 5
  integer(c_int), parameter, public :: flotilla_any_device = -1
  integer(c_int), parameter, public :: flotilla_any_rank = -1
  integer(c_int), parameter, public :: flotilla_host = -2
  integer(c_int), parameter, public :: flotilla_access_read = 0
  integer(c_int), parameter, public :: flotilla_access_write = 1
  integer(c_int), parameter, public :: flotilla_access_update = 2
  integer(c_int), parameter, public :: flotilla_access_commute = 3
  integer(c_int), parameter, public :: flotilla_access_reduce = 4
  integer(c_int), parameter, public :: flotilla_transport_main_only = 0
  integer(c_int), parameter, public :: flotilla_transport_serialized = 1
  integer(c_int), parameter, public :: flotilla_transport_multiple = 2
  integer(c_int), parameter, public :: flotilla_log_error = 0
  integer(c_int), parameter, public :: flotilla_log_warning = 1
  integer(c_int), parameter, public :: flotilla_log_info = 2
  integer(c_int), parameter, public :: flotilla_log_debug = 3

  type, public, bind(c) :: flotilla_error_details
    integer(c_size_t) :: size = 40
    integer(c_int) :: status = FLOTILLA_SUCCESS
    integer(c_int) :: driver_status = 0
    integer(c_int) :: code = 0
    integer(c_int) :: cause = FLOTILLA_SUCCESS
    integer(c_size_t) :: item = 0
    integer(c_int) :: first_cause = FLOTILLA_SUCCESS
  end type

  type, public, bind(c) :: flotilla_runtime
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_program
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_kernel
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_buffer
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_recording
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_cluster
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_flow
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_data
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_trace
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_ticket
    integer(c_int64_t) :: id = 0
  end type

  type, public, bind(c) :: flotilla_runtime_options
    integer(c_size_t) :: size = 48
    type(c_ptr) :: devices = c_null_ptr
    integer(c_int) :: workers = FLOTILLA_AUTOMATIC
    integer(c_int) :: best_effort = 0
    integer(c_size_t) :: window = 0
    type(c_ptr) :: settings = c_null_ptr
    integer(c_int64_t) :: stuck_after_ns = 0
  end type

  type, public, bind(c) :: flotilla_device_info
    integer(c_size_t) :: size = 56
    integer(c_int) :: kind = FLOTILLA_GPU
    integer(c_int) :: driver_ordinal = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: uuid = c_null_ptr
    type(c_ptr) :: pci_id = c_null_ptr
    integer(c_int) :: numa_node = -1
    integer(c_int) :: multiprocessors = 0
    integer(c_size_t) :: memory_bytes = 0
  end type

  type, public, bind(c) :: flotilla_setting
    integer(c_size_t) :: size = 48
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: requested = c_null_ptr
    type(c_ptr) :: granted = c_null_ptr
    integer(c_int) :: outcome = FLOTILLA_SETTING_BY_DEFAULT
    type(c_ptr) :: note = c_null_ptr
  end type

  type, public, bind(c) :: flotilla_counters
    integer(c_size_t) :: size = 64
    integer(c_int64_t) :: tasks = 0
    integer(c_int64_t) :: failed = 0
    integer(c_int64_t) :: batches = 0
    integer(c_int64_t) :: pushes = 0
    integer(c_int64_t) :: migrations = 0
    integer(c_int64_t) :: callables = 0
    integer(c_int64_t) :: pulled = 0
  end type

  type, public, bind(c) :: flotilla_image
    integer(c_size_t) :: size = 56
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: gpu = c_null_ptr
    integer(c_size_t) :: gpu_bytes = 0
    type(c_ptr) :: cpu = c_null_ptr
    integer(c_size_t) :: cpu_bytes = 0
    type(c_ptr) :: gpu_only = c_null_ptr
  end type

  type, public, bind(c) :: flotilla_compile_options
    integer(c_size_t) :: size = 128
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: defines = c_null_ptr
    type(c_ptr) :: include_directories = c_null_ptr
    type(c_ptr) :: name_expressions = c_null_ptr
    type(c_ptr) :: gpu_options = c_null_ptr
    type(c_ptr) :: cpu_options = c_null_ptr
    integer(c_int) :: standard = 0
    integer(c_int) :: fast_math = 0
    integer(c_int) :: no_twins = 0
    integer(c_int) :: no_cache = 0
    type(c_ptr) :: cache_directory = c_null_ptr
    integer(c_size_t) :: cache_bytes = 0
    type(c_ptr) :: cpu_compiler = c_null_ptr
    type(c_ptr) :: nvrtc = c_null_ptr
    integer(c_int64_t) :: timeout_ns = 0
    type(c_ptr) :: log = c_null_ptr
    integer(c_size_t) :: log_bytes = 0
  end type

  type, public, bind(c) :: flotilla_place
    type(flotilla_buffer) :: buffer = flotilla_buffer()
    integer(c_size_t) :: offset = 0
    type(c_ptr) :: host = c_null_ptr
  end type

  type, public, bind(c) :: flotilla_task_options
    integer(c_size_t) :: size = 80
    integer(c_int) :: device = FLOTILLA_ANY_DEVICE
    integer(c_int) :: priority = 0
    type(c_ptr) :: label = c_null_ptr
    type(c_ptr) :: after = c_null_ptr
    integer(c_size_t) :: after_count = 0
    type(c_ptr) :: after_end = c_null_ptr
    integer(c_size_t) :: after_end_count = 0
    integer(c_int) :: alone = 0
    integer(c_int64_t) :: timeout_ns = 0
    integer(c_int) :: repeatable = 0
    integer(c_int) :: rank = FLOTILLA_ANY_RANK
  end type

  type, public, bind(c) :: flotilla_shape
    integer(c_int32_t) :: grid(3) = 0
    integer(c_int32_t) :: block(3) = 0
    integer(c_int32_t) :: dynamic_shared_bytes = 0
  end type

  type, public, bind(c) :: flotilla_argument
    type(c_ptr) :: value = c_null_ptr
    integer(c_size_t) :: bytes = 0
    integer(c_size_t) :: stride = 0
    type(flotilla_place) :: place = flotilla_place()
  end type

  type, public, bind(c) :: flotilla_task_context
    integer(c_size_t) :: size = 0
    integer(c_int) :: device = 0
    type(c_ptr) :: context = c_null_ptr
    type(c_ptr) :: stream = c_null_ptr
  end type

  type, public, bind(c) :: flotilla_recorded_options
    integer(c_size_t) :: size = 32
    integer(c_int) :: device = FLOTILLA_ANY_DEVICE
    type(c_ptr) :: after = c_null_ptr
    integer(c_size_t) :: after_count = 0
  end type

  type, public, bind(c) :: flotilla_replay_options
    integer(c_size_t) :: size = 48
    integer(c_int) :: priority = 0
    type(c_ptr) :: label = c_null_ptr
    type(c_ptr) :: after = c_null_ptr
    integer(c_size_t) :: after_count = 0
    integer(c_int64_t) :: timeout_ns = 0
  end type

  type, public, bind(c) :: flotilla_flow_options
    integer(c_size_t) :: size = 16
    integer(c_size_t) :: memory_limit = 0
  end type

  type, public, bind(c) :: flotilla_shape_of_data
    integer(c_size_t) :: object_bytes = 0
    integer(c_size_t) :: extents(3) = 0
    integer(c_int) :: rank = 0
  end type

  type, public, bind(c) :: flotilla_view
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: pitch = 0
    integer(c_size_t) :: plane_pitch = 0
    integer(c_size_t) :: extents(3) = 0
    integer(c_int) :: rank = 0
  end type

  type, public, bind(c) :: flotilla_reduction
    integer(c_size_t) :: size = 24
    type(c_ptr) :: identity = c_null_ptr
    type(c_funptr) :: combine = c_null_funptr
  end type

  type, public, bind(c) :: flotilla_use
    type(flotilla_data) :: data = flotilla_data()
    integer(c_int) :: access = 0
    type(c_ptr) :: reduction = c_null_ptr
    type(flotilla_argument) :: argument = flotilla_argument()
  end type

  type, public, bind(c) :: flotilla_transport_event
    integer(c_int) :: request = 0
    integer(c_int) :: source = 0
    integer(c_size_t) :: bytes = 0
    integer(c_int) :: status = 0
  end type

  type, public, bind(c) :: flotilla_transport
    integer(c_size_t) :: size = 96
    type(c_ptr) :: self = c_null_ptr
    integer(c_int) :: rank = 0
    integer(c_int) :: ranks = 1
    integer(c_int) :: world_ranks = 1
    integer(c_int) :: local_rank = 0
    integer(c_int) :: local_ranks = 1
    integer(c_int8_t) :: threads = FLOTILLA_TRANSPORT_SERIALIZED
    type(c_ptr) :: library = c_null_ptr
    type(c_funptr) :: isend = c_null_funptr
    type(c_funptr) :: irecv = c_null_funptr
    type(c_funptr) :: testsome = c_null_funptr
    type(c_funptr) :: cancel = c_null_funptr
    type(c_funptr) :: describe = c_null_funptr
    type(c_funptr) :: close = c_null_funptr
  end type

  type, public, bind(c) :: flotilla_cluster_counters
    integer(c_size_t) :: size = 56
    integer(c_int64_t) :: messages_sent = 0
    integer(c_int64_t) :: messages_received = 0
    integer(c_int64_t) :: transfers_sent = 0
    integer(c_int64_t) :: transfers_received = 0
    integer(c_int64_t) :: bytes_sent = 0
    integer(c_int64_t) :: bytes_received = 0
  end type

  type, public, bind(c) :: flotilla_trace_options
    integer(c_size_t) :: size = 32
    type(c_ptr) :: file = c_null_ptr
    integer(c_int32_t) :: every = 1
    integer(c_size_t) :: memory = 0
  end type

  type, public, bind(c) :: flotilla_trace_summary
    integer(c_size_t) :: size = 40
    integer(c_int64_t) :: tasks = 0
    integer(c_int64_t) :: dropped = 0
    integer(c_int64_t) :: unfinished = 0
    integer(c_int64_t) :: bytes = 0
  end type

  type, public, bind(c) :: flotilla_log_message
    integer(c_size_t) :: size = 0
    integer(c_int) :: level = 0
    integer(c_int) :: device = 0
    integer(c_int64_t) :: time_ns = 0
    integer(c_int64_t) :: thread = 0
    type(c_ptr) :: text = c_null_ptr
  end type

  interface
    function flotilla_status_name(status) result(got) bind(c)
      import
      integer(c_int), value :: status
      type(c_ptr) :: got
    end function
    function flotilla_last_error() result(got) bind(c)
      import
      type(c_ptr) :: got
    end function
    function flotilla_last_error_details(details) result(got) bind(c)
      import
      type(flotilla_error_details), intent(inout), optional :: details
      integer(c_int) :: got
    end function
    function flotilla_version_text() result(got) bind(c)
      import
      type(c_ptr) :: got
    end function
    function flotilla_runtime_create(options, made) result(got) bind(c)
      import
      type(flotilla_runtime_options), intent(in), optional :: options
      type(flotilla_runtime), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_runtime_destroy(rt) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int) :: got
    end function
    function flotilla_runtime_close(rt) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int) :: got
    end function
    function flotilla_pump(rt, open) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), intent(inout), optional :: open
      integer(c_int) :: got
    end function
    function flotilla_wait_idle(rt) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int) :: got
    end function
    function flotilla_flush_printf(rt) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int) :: got
    end function
    function flotilla_driver_text(rt, text) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(c_ptr), intent(inout), optional :: text
      integer(c_int) :: got
    end function
    function flotilla_device_count(rt, count) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), intent(inout), optional :: count
      integer(c_int) :: got
    end function
    function flotilla_get_device(rt, device, info) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), value :: device
      type(flotilla_device_info), intent(inout), optional :: info
      integer(c_int) :: got
    end function
    function flotilla_get_memory(rt, device, free_bytes, total_bytes) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), value :: device
      integer(c_size_t), intent(inout), optional :: free_bytes
      integer(c_size_t), intent(inout), optional :: total_bytes
      integer(c_int) :: got
    end function
    function flotilla_get_setting(rt, device, name, setting) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), value :: device
      character(kind=c_char), intent(in), optional :: name(*)
      type(flotilla_setting), intent(inout), optional :: setting
      integer(c_int) :: got
    end function
    function flotilla_get_health(rt, device, health) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), value :: device
      integer(c_int), intent(inout), optional :: health
      integer(c_int) :: got
    end function
    function flotilla_get_counters(rt, device, counters) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), value :: device
      type(flotilla_counters), intent(inout), optional :: counters
      integer(c_int) :: got
    end function
    function flotilla_program_load(rt, image, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(flotilla_image), intent(in), optional :: image
      type(flotilla_program), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_program_load_file(rt, path, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      character(kind=c_char), intent(in), optional :: path(*)
      type(flotilla_program), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_program_compile(rt, source, options, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      character(kind=c_char), intent(in), optional :: source(*)
      type(flotilla_compile_options), intent(in), optional :: options
      type(flotilla_program), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_program_kernel(program, name, found) result(got) bind(c)
      import
      type(flotilla_program), value :: program
      character(kind=c_char), intent(in), optional :: name(*)
      type(flotilla_kernel), intent(inout), optional :: found
      integer(c_int) :: got
    end function
    function flotilla_kernel_parameter_count(kernel, count) result(got) bind(c)
      import
      type(flotilla_kernel), value :: kernel
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: got
    end function
    function flotilla_kernel_parameter_bytes(kernel, index, bytes) result(got) bind(c)
      import
      type(flotilla_kernel), value :: kernel
      integer(c_size_t), value :: index
      integer(c_size_t), intent(inout), optional :: bytes
      integer(c_int) :: got
    end function
    function flotilla_program_write_global(program, device, name, from, bytes) result(got) bind(c)
      import
      type(flotilla_program), value :: program
      integer(c_int), value :: device
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
      integer(c_int) :: got
    end function
    function flotilla_program_read_global(program, device, name, to, bytes) result(got) bind(c)
      import
      type(flotilla_program), value :: program
      integer(c_int), value :: device
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), value :: to
      integer(c_size_t), value :: bytes
      integer(c_int) :: got
    end function
    function flotilla_device_alloc(rt, device, bytes, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_int), value :: device
      integer(c_size_t), value :: bytes
      type(flotilla_buffer), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_host_alloc(rt, bytes, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      integer(c_size_t), value :: bytes
      type(flotilla_buffer), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_buffer_free(buffer) result(got) bind(c)
      import
      type(flotilla_buffer), value :: buffer
      integer(c_int) :: got
    end function
    function flotilla_buffer_address(buffer, address) result(got) bind(c)
      import
      type(flotilla_buffer), value :: buffer
      type(c_ptr), intent(inout), optional :: address
      integer(c_int) :: got
    end function
    function flotilla_buffer_bytes(buffer, bytes) result(got) bind(c)
      import
      type(flotilla_buffer), value :: buffer
      integer(c_size_t), intent(inout), optional :: bytes
      integer(c_int) :: got
    end function
    function flotilla_submit_launch(kernel, shape, arguments, count, options, ticket) result(got) &
        bind(c)
      import
      type(flotilla_kernel), value :: kernel
      type(flotilla_shape), value :: shape
      type(flotilla_argument), intent(in), optional :: arguments(*)
      integer(c_size_t), value :: count
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_submit_bulk(kernel, shape, arguments, count, items, options, ticket) &
        result(got) bind(c)
      import
      type(flotilla_kernel), value :: kernel
      type(flotilla_shape), value :: shape
      type(flotilla_argument), intent(in), optional :: arguments(*)
      integer(c_size_t), value :: count
      integer(c_size_t), value :: items
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_submit_copy(to, from, bytes, options, ticket) result(got) bind(c)
      import
      type(flotilla_place), value :: to
      type(flotilla_place), value :: from
      integer(c_size_t), value :: bytes
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_submit_fill(to, value, value_bytes, count, options, ticket) result(got) &
        bind(c)
      import
      type(flotilla_place), value :: to
      type(c_ptr), value :: value
      integer(c_size_t), value :: value_bytes
      integer(c_size_t), value :: count
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_submit_function(rt, function, user, destroy, options, ticket) result(got) &
        bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      type(c_funptr), value :: destroy
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_ticket_release(ticket) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      integer(c_int) :: got
    end function
    function flotilla_ticket_ready(ticket, ready) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      integer(c_int), intent(inout), optional :: ready
      integer(c_int) :: got
    end function
    function flotilla_ticket_wait(ticket) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      integer(c_int) :: got
    end function
    function flotilla_ticket_wait_for(ticket, nanoseconds, ended) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      integer(c_int64_t), value :: nanoseconds
      integer(c_int), intent(inout), optional :: ended
      integer(c_int) :: got
    end function
    function flotilla_wait_all(tickets, count) result(got) bind(c)
      import
      type(flotilla_ticket), intent(in), optional :: tickets(*)
      integer(c_size_t), value :: count
      integer(c_int) :: got
    end function
    function flotilla_wait_any(tickets, count, index) result(got) bind(c)
      import
      type(flotilla_ticket), intent(in), optional :: tickets(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout), optional :: index
      integer(c_int) :: got
    end function
    function flotilla_ticket_cancel(ticket, cancelled) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      integer(c_int), intent(inout), optional :: cancelled
      integer(c_int) :: got
    end function
    function flotilla_ticket_device(ticket, device) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      integer(c_int), intent(inout), optional :: device
      integer(c_int) :: got
    end function
    function flotilla_ticket_then(ticket, function, user) result(got) bind(c)
      import
      type(flotilla_ticket), value :: ticket
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      integer(c_int) :: got
    end function
    function flotilla_recording_create(rt, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(flotilla_recording), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_recording_destroy(recording) result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      integer(c_int) :: got
    end function
    function flotilla_record_launch(recording, kernel, shape, arguments, count, options, task) &
        result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      type(flotilla_kernel), value :: kernel
      type(flotilla_shape), value :: shape
      type(flotilla_argument), intent(in), optional :: arguments(*)
      integer(c_size_t), value :: count
      type(flotilla_recorded_options), intent(in), optional :: options
      integer(c_size_t), intent(inout), optional :: task
      integer(c_int) :: got
    end function
    function flotilla_record_copy(recording, to, from, bytes, options, task) result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      type(flotilla_place), value :: to
      type(flotilla_place), value :: from
      integer(c_size_t), value :: bytes
      type(flotilla_recorded_options), intent(in), optional :: options
      integer(c_size_t), intent(inout), optional :: task
      integer(c_int) :: got
    end function
    function flotilla_record_fill(recording, to, value, value_bytes, count, options, task) &
        result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      type(flotilla_place), value :: to
      type(c_ptr), value :: value
      integer(c_size_t), value :: value_bytes
      integer(c_size_t), value :: count
      type(flotilla_recorded_options), intent(in), optional :: options
      integer(c_size_t), intent(inout), optional :: task
      integer(c_int) :: got
    end function
    function flotilla_recording_finish(recording) result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      integer(c_int) :: got
    end function
    function flotilla_recording_replay(recording, options, ticket) result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      type(flotilla_replay_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_recording_set_launch(recording, task, kernel, shape, arguments, count) &
        result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      integer(c_size_t), value :: task
      type(flotilla_kernel), value :: kernel
      type(flotilla_shape), value :: shape
      type(flotilla_argument), intent(in), optional :: arguments(*)
      integer(c_size_t), value :: count
      integer(c_int) :: got
    end function
    function flotilla_recording_set_copy(recording, task, to, from, bytes) result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      integer(c_size_t), value :: task
      type(flotilla_place), value :: to
      type(flotilla_place), value :: from
      integer(c_size_t), value :: bytes
      integer(c_int) :: got
    end function
    function flotilla_recording_set_fill(recording, task, to, value, value_bytes, count) &
        result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      integer(c_size_t), value :: task
      type(flotilla_place), value :: to
      type(c_ptr), value :: value
      integer(c_size_t), value :: value_bytes
      integer(c_size_t), value :: count
      integer(c_int) :: got
    end function
    function flotilla_recording_size(recording, count) result(got) bind(c)
      import
      type(flotilla_recording), value :: recording
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: got
    end function
    function flotilla_flow_create(rt, options, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(flotilla_flow_options), intent(in), optional :: options
      type(flotilla_flow), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_flow_destroy(flow) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      integer(c_int) :: got
    end function
    function flotilla_data_create(flow, shape, contents, label, made) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      type(flotilla_shape_of_data), value :: shape
      type(flotilla_place), intent(in), optional :: contents
      character(kind=c_char), intent(in), optional :: label(*)
      type(flotilla_data), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_token_create(flow, label, made) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      character(kind=c_char), intent(in), optional :: label(*)
      type(flotilla_data), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_data_destroy(data) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int) :: got
    end function
    function flotilla_data_divide(data, tile, tiles, count) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      type(flotilla_shape_of_data), value :: tile
      type(flotilla_data), intent(inout), optional :: tiles(*)
      integer(c_size_t), value :: count
      integer(c_int) :: got
    end function
    function flotilla_data_to_host(data, change, view) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int), value :: change
      type(flotilla_view), intent(inout), optional :: view
      integer(c_int) :: got
    end function
    function flotilla_data_set_write_back(data, on) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int), value :: on
      integer(c_int) :: got
    end function
    function flotilla_data_prefetch(data, place) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int), value :: place
      integer(c_int) :: got
    end function
    function flotilla_data_is_valid_at(data, place, valid) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int), value :: place
      integer(c_int), intent(inout), optional :: valid
      integer(c_int) :: got
    end function
    function flotilla_flow_submit_launch(flow, kernel, shape, arguments, count, options, ticket) &
        result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      type(flotilla_kernel), value :: kernel
      type(flotilla_shape), value :: shape
      type(flotilla_use), intent(in), optional :: arguments(*)
      integer(c_size_t), value :: count
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_flow_submit_function(flow, function, user, destroy, uses, count, options, &
        ticket) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      type(c_funptr), value :: destroy
      type(flotilla_use), intent(in), optional :: uses(*)
      integer(c_size_t), value :: count
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_flow_submit_host(flow, function, user, destroy, uses, count, options, &
        ticket) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      type(c_funptr), value :: destroy
      type(flotilla_use), intent(in), optional :: uses(*)
      integer(c_size_t), value :: count
      type(flotilla_task_options), intent(in), optional :: options
      type(flotilla_ticket), intent(inout), optional :: ticket
      integer(c_int) :: got
    end function
    function flotilla_flow_repeat(flow, count, iteration, user) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      integer(c_size_t), value :: count
      type(c_funptr), value :: iteration
      type(c_ptr), value :: user
      integer(c_int) :: got
    end function
    function flotilla_flow_repeat_while(flow, value, goes_on, iteration, user, most, check_every, &
        count) result(got) bind(c)
      import
      type(flotilla_flow), value :: flow
      type(flotilla_data), value :: value
      type(c_funptr), value :: goes_on
      type(c_funptr), value :: iteration
      type(c_ptr), value :: user
      integer(c_size_t), value :: most
      integer(c_size_t), value :: check_every
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: got
    end function
    function flotilla_cluster_create(rt, via, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(flotilla_transport), intent(in), optional :: via
      type(flotilla_cluster), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_cluster_destroy(cluster) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      integer(c_int) :: got
    end function
    function flotilla_cluster_rank(cluster, rank, ranks) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      integer(c_int), intent(inout), optional :: rank
      integer(c_int), intent(inout), optional :: ranks
      integer(c_int) :: got
    end function
    function flotilla_cluster_exclusive(cluster, function, user) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      integer(c_int) :: got
    end function
    function flotilla_cluster_wait_idle(cluster) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      integer(c_int) :: got
    end function
    function flotilla_cluster_finish(cluster) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      integer(c_int) :: got
    end function
    function flotilla_cluster_fail(cluster, why) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      character(kind=c_char), intent(in), optional :: why(*)
      integer(c_int) :: got
    end function
    function flotilla_cluster_get_counters(cluster, counters) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      type(flotilla_cluster_counters), intent(inout), optional :: counters
      integer(c_int) :: got
    end function
    function flotilla_flow_create_over(cluster, options, made) result(got) bind(c)
      import
      type(flotilla_cluster), value :: cluster
      type(flotilla_flow_options), intent(in), optional :: options
      type(flotilla_flow), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_data_owner(data, rank) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int), intent(inout), optional :: rank
      integer(c_int) :: got
    end function
    function flotilla_data_set_owner(data, rank) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int), value :: rank
      integer(c_int) :: got
    end function
    function flotilla_data_collect(data) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      integer(c_int) :: got
    end function
    function flotilla_data_divide_among(data, tile, owners, tiles, count) result(got) bind(c)
      import
      type(flotilla_data), value :: data
      type(flotilla_shape_of_data), value :: tile
      integer(c_int), intent(in), optional :: owners(*)
      type(flotilla_data), intent(inout), optional :: tiles(*)
      integer(c_size_t), value :: count
      integer(c_int) :: got
    end function
    function flotilla_trace_begin(rt, options, made) result(got) bind(c)
      import
      type(flotilla_runtime), value :: rt
      type(flotilla_trace_options), intent(in), optional :: options
      type(flotilla_trace), intent(inout), optional :: made
      integer(c_int) :: got
    end function
    function flotilla_trace_end(trace, summary) result(got) bind(c)
      import
      type(flotilla_trace), value :: trace
      type(flotilla_trace_summary), intent(inout), optional :: summary
      integer(c_int) :: got
    end function
    function flotilla_set_log_level(level) result(got) bind(c)
      import
      integer(c_int), value :: level
      integer(c_int) :: got
    end function
    function flotilla_get_log_level(level) result(got) bind(c)
      import
      integer(c_int), intent(inout), optional :: level
      integer(c_int) :: got
    end function
    function flotilla_set_log_handler(function, user) result(got) bind(c)
      import
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      integer(c_int) :: got
    end function
  end interface

  public :: flotilla_status_name
  public :: flotilla_last_error
  public :: flotilla_last_error_details
  public :: flotilla_version_text
  public :: flotilla_runtime_create
  public :: flotilla_runtime_destroy
  public :: flotilla_runtime_close
  public :: flotilla_pump
  public :: flotilla_wait_idle
  public :: flotilla_flush_printf
  public :: flotilla_driver_text
  public :: flotilla_device_count
  public :: flotilla_get_device
  public :: flotilla_get_memory
  public :: flotilla_get_setting
  public :: flotilla_get_health
  public :: flotilla_get_counters
  public :: flotilla_program_load
  public :: flotilla_program_load_file
  public :: flotilla_program_compile
  public :: flotilla_program_kernel
  public :: flotilla_kernel_parameter_count
  public :: flotilla_kernel_parameter_bytes
  public :: flotilla_program_write_global
  public :: flotilla_program_read_global
  public :: flotilla_device_alloc
  public :: flotilla_host_alloc
  public :: flotilla_buffer_free
  public :: flotilla_buffer_address
  public :: flotilla_buffer_bytes
  public :: flotilla_submit_launch
  public :: flotilla_submit_bulk
  public :: flotilla_submit_copy
  public :: flotilla_submit_fill
  public :: flotilla_submit_function
  public :: flotilla_ticket_release
  public :: flotilla_ticket_ready
  public :: flotilla_ticket_wait
  public :: flotilla_ticket_wait_for
  public :: flotilla_wait_all
  public :: flotilla_wait_any
  public :: flotilla_ticket_cancel
  public :: flotilla_ticket_device
  public :: flotilla_ticket_then
  public :: flotilla_recording_create
  public :: flotilla_recording_destroy
  public :: flotilla_record_launch
  public :: flotilla_record_copy
  public :: flotilla_record_fill
  public :: flotilla_recording_finish
  public :: flotilla_recording_replay
  public :: flotilla_recording_set_launch
  public :: flotilla_recording_set_copy
  public :: flotilla_recording_set_fill
  public :: flotilla_recording_size
  public :: flotilla_flow_create
  public :: flotilla_flow_destroy
  public :: flotilla_data_create
  public :: flotilla_token_create
  public :: flotilla_data_destroy
  public :: flotilla_data_divide
  public :: flotilla_data_to_host
  public :: flotilla_data_set_write_back
  public :: flotilla_data_prefetch
  public :: flotilla_data_is_valid_at
  public :: flotilla_flow_submit_launch
  public :: flotilla_flow_submit_function
  public :: flotilla_flow_submit_host
  public :: flotilla_flow_repeat
  public :: flotilla_flow_repeat_while
  public :: flotilla_cluster_create
  public :: flotilla_cluster_destroy
  public :: flotilla_cluster_rank
  public :: flotilla_cluster_exclusive
  public :: flotilla_cluster_wait_idle
  public :: flotilla_cluster_finish
  public :: flotilla_cluster_fail
  public :: flotilla_cluster_get_counters
  public :: flotilla_flow_create_over
  public :: flotilla_data_owner
  public :: flotilla_data_set_owner
  public :: flotilla_data_collect
  public :: flotilla_data_divide_among
  public :: flotilla_trace_begin
  public :: flotilla_trace_end
  public :: flotilla_set_log_level
  public :: flotilla_get_log_level
  public :: flotilla_set_log_handler

  !> The argument of a launch that is the value of a variable. The argument keeps the address of the
  !> variable. So the variable must have the attribute `target`, and must not change until the launch
  !> is submitted or recorded.
  interface flotilla_value
    procedure value_of_int32, value_of_int64, value_of_real32, value_of_real64, value_of_address
  end interface

  !> Options with these predecessors: flotilla_task_options for one ticket or an array of tickets,
  !> flotilla_recorded_options for one task of a recording or an array of them. The options keep the
  !> address of the variable. So it must have the attribute `target`, an array must be contiguous, and
  !> the variable must not change until the task is submitted or recorded.
  interface flotilla_after
    procedure after_ticket, after_tickets, after_task, after_tasks
  end interface

  !> The shape of a grid with at least `threads` threads in blocks of `block` threads. If one of them
  !> is less than 1, or there are too many blocks, the grid is empty, and no function accepts it.
  interface flotilla_over
    procedure over_int32, over_int64, over_int64_int64
  end interface

  interface
    !> Fills a transport for flotilla_cluster_create from MPI. The program must link to the functions of
    !> flotilla/c/mpi.h, see docs/fortran.md.
    !> @param communicator  As in the module mpi. In the module mpi_f08, it is the member MPI_VAL.
    function flotilla_mpi(communicator, made) result(got) bind(c, name='flotilla_mpi_f')
      import
      integer(c_int), intent(in) :: communicator
      type(flotilla_transport), intent(inout) :: made
      integer(c_int) :: got
    end function

    !> Divides the GPUs of each machine among its ranks, as flotilla_mpi_share_devices in
    !> flotilla/c/mpi.h does. Call it on all ranks, before they make their runtimes.
    !> @param devices  Gets the value of flotilla_runtime_options%devices, ended by c_null_char.
    !> @param bytes    The length of `devices`.
    function flotilla_mpi_share_devices(communicator, devices, bytes) result(got) &
        bind(c, name='flotilla_mpi_share_devices_f')
      import
      integer(c_int), intent(in) :: communicator
      character(kind=c_char), intent(inout) :: devices(*)
      integer(c_size_t), value :: bytes
      integer(c_int) :: got
    end function
  end interface

  public :: flotilla_mpi, flotilla_mpi_share_devices, flotilla_blocks, flotilla_cyclic
  public :: flotilla_value, flotilla_address, flotilla_in_buffer, flotilla_on_host, flotilla_over
  public :: flotilla_after, flotilla_load, flotilla_error_text, flotilla_text
  public :: flotilla_vector, flotilla_matrix, flotilla_read, flotilla_write, flotilla_update
  public :: flotilla_commute, flotilla_reduce, flotilla_plain
contains
  !> Loads an image on every device of a runtime, as flotilla_program_load does.
  !> @param image  The result of the function <name>_for_fortran.
  function flotilla_load(rt, image, made) result(status)
    type(flotilla_runtime), intent(in) :: rt
    type(c_ptr), intent(in) :: image
    type(flotilla_program), intent(inout) :: made
    integer(c_int) :: status
    type(flotilla_image), pointer :: at
    nullify(at)
    if (c_associated(image)) call c_f_pointer(image, at)
    status = flotilla_program_load(rt, at, made)
  end function

  function after_ticket(ticket) result(options)
    type(flotilla_ticket), pointer, intent(in) :: ticket
    type(flotilla_task_options) :: options
    options%after = c_loc(ticket)
    options%after_count = 1
  end function

  function after_tickets(tickets) result(options)
    type(flotilla_ticket), pointer, contiguous, intent(in) :: tickets(:)
    type(flotilla_task_options) :: options
    if (size(tickets) > 0) options%after = c_loc(tickets)
    options%after_count = size(tickets, kind=c_size_t)
  end function

  function after_task(task) result(options)
    integer(c_size_t), pointer, intent(in) :: task
    type(flotilla_recorded_options) :: options
    options%after = c_loc(task)
    options%after_count = 1
  end function

  function after_tasks(tasks) result(options)
    integer(c_size_t), pointer, contiguous, intent(in) :: tasks(:)
    type(flotilla_recorded_options) :: options
    if (size(tasks) > 0) options%after = c_loc(tasks)
    options%after_count = size(tasks, kind=c_size_t)
  end function

  pure function over_int64_int64(threads, block) result(shape)
    integer(c_int64_t), intent(in) :: threads, block
    type(flotilla_shape) :: shape
    integer(c_int64_t), parameter :: max = huge(0_c_int32_t)
    integer(c_int64_t) :: blocks
    shape%grid = [0, 1, 1]
    shape%block = [0, 1, 1]
    if (threads < 1 .or. block < 1 .or. block > max) return
    shape%block(1) = int(block, c_int32_t)
    blocks = (threads - 1) / block + 1
    if (blocks <= max) shape%grid(1) = int(blocks, c_int32_t)
  end function

  pure function over_int64(threads, block) result(shape)
    integer(c_int64_t), intent(in) :: threads
    integer(c_int32_t), intent(in) :: block
    type(flotilla_shape) :: shape
    shape = over_int64_int64(threads, int(block, c_int64_t))
  end function

  pure function over_int32(threads, block) result(shape)
    integer(c_int32_t), intent(in) :: threads, block
    type(flotilla_shape) :: shape
    shape = over_int64_int64(int(threads, c_int64_t), int(block, c_int64_t))
  end function

  !> The place `offset` bytes behind the start of a buffer.
  pure function flotilla_in_buffer(buffer, offset) result(place)
    type(flotilla_buffer), intent(in) :: buffer
    integer(c_size_t), intent(in), optional :: offset
    type(flotilla_place) :: place
    place%buffer = buffer
    if (present(offset)) place%offset = offset
  end function

  !> A place in pageable memory of the program, such as c_loc(array).
  pure function flotilla_on_host(address) result(place)
    type(c_ptr), intent(in) :: address
    type(flotilla_place) :: place
    place%host = address
  end function

  !> The argument of a launch that is the address of a place in a buffer.
  pure function flotilla_address(buffer, offset) result(argument)
    type(flotilla_buffer), intent(in) :: buffer
    integer(c_size_t), intent(in), optional :: offset
    type(flotilla_argument) :: argument
    argument%place = flotilla_in_buffer(buffer, offset)
  end function

  !> The shape of `count` objects of `object_bytes` bytes.
  pure function flotilla_vector(object_bytes, count) result(shape)
    integer(c_size_t), intent(in) :: object_bytes, count
    type(flotilla_shape_of_data) :: shape
    shape%object_bytes = object_bytes
    shape%extents(1) = count
    shape%rank = 1
  end function

  !> The shape of `rows` times `columns` objects, of which the objects of a row are adjacent. So an
  !> array a(n, m) of Fortran has m rows and n columns.
  pure function flotilla_matrix(object_bytes, rows, columns) result(shape)
    integer(c_size_t), intent(in) :: object_bytes, rows, columns
    type(flotilla_shape_of_data) :: shape
    shape%object_bytes = object_bytes
    shape%extents(1:2) = [rows, columns]
    shape%rank = 2
  end function

  !> The owners of `count` tiles: each rank owns tiles that follow each other, about the same number of
  !> them.
  pure function flotilla_blocks(ranks, count) result(owners)
    integer(c_int), intent(in) :: ranks
    integer(c_size_t), intent(in) :: count
    integer(c_int) :: owners(count)
    integer(c_size_t) :: i
    owners = [(int(i * ranks / count, c_int), i = 0, count - 1)]
  end function

  !> The owners of `count` tiles: the ranks own the tiles in turn.
  pure function flotilla_cyclic(ranks, count) result(owners)
    integer(c_int), intent(in) :: ranks
    integer(c_size_t), intent(in) :: count
    integer(c_int) :: owners(count)
    integer(c_size_t) :: i
    owners = [(int(mod(i, int(ranks, c_size_t)), c_int), i = 0, count - 1)]
  end function

  pure function use_of(data, access) result(use)
    type(flotilla_data), intent(in) :: data
    integer(c_int), intent(in) :: access
    type(flotilla_use) :: use
    use%data = data
    use%access = access
  end function

  !> Uses of data by a task of a flow.
  pure function flotilla_read(data) result(use)
    type(flotilla_data), intent(in) :: data
    type(flotilla_use) :: use
    use = use_of(data, flotilla_access_read)
  end function

  pure function flotilla_write(data) result(use)
    type(flotilla_data), intent(in) :: data
    type(flotilla_use) :: use
    use = use_of(data, flotilla_access_write)
  end function

  pure function flotilla_update(data) result(use)
    type(flotilla_data), intent(in) :: data
    type(flotilla_use) :: use
    use = use_of(data, flotilla_access_update)
  end function

  pure function flotilla_commute(data) result(use)
    type(flotilla_data), intent(in) :: data
    type(flotilla_use) :: use
    use = use_of(data, flotilla_access_commute)
  end function

  !> @param with  The use keeps the address of the operation, which must exist until the runtime was
  !>              destroyed.
  function flotilla_reduce(data, with) result(use)
    type(flotilla_data), intent(in) :: data
    type(flotilla_reduction), pointer, intent(in) :: with
    type(flotilla_use) :: use
    use = use_of(data, flotilla_access_reduce)
    use%reduction = c_loc(with)
  end function

  !> An argument of a launch that is not a use of data, such as flotilla_plain(flotilla_value(n)).
  pure function flotilla_plain(argument) result(use)
    type(flotilla_argument), intent(in) :: argument
    type(flotilla_use) :: use
    use%argument = argument
  end function

  function value_of_int32(variable) result(argument)
    integer(c_int32_t), pointer, intent(in) :: variable
    type(flotilla_argument) :: argument
    argument%value = c_loc(variable)
    argument%bytes = c_sizeof(variable)
  end function

  function value_of_int64(variable) result(argument)
    integer(c_int64_t), pointer, intent(in) :: variable
    type(flotilla_argument) :: argument
    argument%value = c_loc(variable)
    argument%bytes = c_sizeof(variable)
  end function

  function value_of_real32(variable) result(argument)
    real(c_float), pointer, intent(in) :: variable
    type(flotilla_argument) :: argument
    argument%value = c_loc(variable)
    argument%bytes = c_sizeof(variable)
  end function

  function value_of_real64(variable) result(argument)
    real(c_double), pointer, intent(in) :: variable
    type(flotilla_argument) :: argument
    argument%value = c_loc(variable)
    argument%bytes = c_sizeof(variable)
  end function

  function value_of_address(variable) result(argument)
    type(c_ptr), pointer, intent(in) :: variable
    type(flotilla_argument) :: argument
    argument%value = c_loc(variable)
    argument%bytes = c_sizeof(variable)
  end function

  !> The text of the last failure in the calling thread: which object, which call, and why.
  function flotilla_error_text() result(text)
    character(len=:), allocatable :: text
    text = flotilla_text(flotilla_last_error())
  end function

  !> The text at an address that a function for C returned, or an empty text for a null pointer.
  function flotilla_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    interface
      pure function strlen(address) result(length) bind(c)
        import :: c_ptr, c_size_t
        type(c_ptr), value :: address
        integer(c_size_t) :: length
      end function
    end interface
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: length, i
    if (.not. c_associated(address)) then
      text = ''
      return
    end if
    length = strlen(address)
    call c_f_pointer(address, letters, [length])
    allocate(character(len=length) :: text)
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end function
end module

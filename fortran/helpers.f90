! SPDX-FileCopyrightText: The flotilla authors
! SPDX-License-Identifier: Apache-2.0
! The part of the module that is written by hand: the functions of the headers that are inline in C,
! and conversions of text. make_module adds it to the generated part.

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

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects that the library keeps for each thread, and when they are destroyed.

namespace flotilla::base {

/// The list of the objects of one thread. They are destroyed in the reverse order when the thread
/// ends. Threads: each function acts on the calling thread's list.
///
/// The C library takes the lock of the dynamic loader to register a destructor for the end of a
/// thread. dlclose holds this lock while it runs destructors, also the one of a runtime that is a
/// static object of a plug-in. So a thread for which this destructor may wait must not register
/// anything: threads of the library have a library_thread, and threads of oneTBB call `prepare`
/// before anything waits for them.
class thread_objects {
 public:
  struct node {
    node* older = nullptr;
    void (*destroy)(node* self) noexcept = nullptr;
  };

  /// Adds an object. @throws std::bad_alloc  Nothing was added.
  static void add(node& added) {
    if (!is_prepared_) { prepare(); }
    added.older = newest_;
    newest_ = &added;
  }
  /// Registers the destruction of the list, unless that was done. Until the thread ends, this also
  /// keeps the library loaded. @throws std::bad_alloc
  static void prepare();

 private:
  friend class library_thread;
  static void destroy_all() noexcept;

  static inline thread_local constinit node* newest_ = nullptr;
  static inline thread_local constinit bool is_prepared_ = false;
};

/// A thread of the library has one such object on its stack. The end of the object destroys the
/// objects of the thread.
class library_thread {
 public:
  library_thread() noexcept;
  ~library_thread();
  library_thread(library_thread const&) = delete;
  library_thread& operator=(library_thread const&) = delete;
};

}  // namespace flotilla::base

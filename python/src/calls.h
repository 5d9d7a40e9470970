// Long calls from Python: without the GIL, and stopped by Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <type_traits>

#include "whorl/error.h"

namespace whorl::python {

/// Whether the calling thread runs Python's signal handlers. Set on entry of each call.
inline thread_local bool on_main_thread = false;

inline bool is_main_thread() {
  const auto threading = nanobind::module_::import_("threading");
  return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

/// Polled by the library from the calling thread, which holds no GIL. A handler that raises
/// (Ctrl-C) leaves its exception pending in this thread, where raise_pending finds it.
inline bool interrupted() {
  using clock = std::chrono::steady_clock;
  constexpr auto period = std::chrono::milliseconds(20);  // taking the GIL may mean waiting for it
  thread_local clock::time_point last{};
  if (!on_main_thread) return false;
  const auto now = clock::now();
  if (now - last < period) return false;
  last = now;
  nanobind::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

inline void raise_pending() {
  if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
}

/// Runs `work`, which must not touch Python objects, without the GIL.
template <class Work>
auto without_gil(Work&& work) {
  on_main_thread = is_main_thread();
  const auto run = [&work] {
    nanobind::gil_scoped_release release;
    return work();
  };
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      run();
      raise_pending();
    } else {
      auto result = run();
      raise_pending();
      return result;
    }
  } catch (const InterruptedError&) {
    raise_pending();
    throw;
  }
}

}  // namespace whorl::python

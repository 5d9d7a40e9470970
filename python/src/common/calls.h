// Long calls from Python: without the GIL, stopped by Ctrl-C; and methods of the library as methods
// in Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings.h"
#include "whorl/common.h"
#include "whorl/error.h"

namespace whorl::python {

/// Python's main thread, which alone runs signal handlers: what PyThread_get_thread_ident() says.
inline std::atomic<unsigned long> main_thread{0};

/// Each module calls it when it is imported. A forked child has the thread that forked only.
inline void find_main_thread() {
  const auto main = nanobind::module_::import_("threading").attr("main_thread")();
  main_thread = nanobind::cast<unsigned long>(main.attr("ident"));
  pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
}

/// Whether the calling thread is the main one. Set on entry of each call.
inline thread_local bool on_main_thread = false;
/// The calling thread's state while it has no GIL.
inline thread_local PyThreadState* thread_state = nullptr;

/// A thread that asks for the GIL when Python is finalising never gets it. Python ends it by
/// unwinding its stack (pthread_exit, until Python 3.13), which the frames of C++ answer with
/// std::terminate. They must stop the unwinding here in its place: nothing is released, and the
/// thread waits until the process ends, as Python 3.14 makes it wait.
[[noreturn]] inline void wait_for_the_end() {
  while (true) pause();
}

/// work(), which takes the GIL or runs Python code, throws nothing itself, and has no destructors
/// to run where Python ends the thread.
template <class Work>
auto unless_python_ends(const Work& work) noexcept {
  try {
    return work();
  } catch (...) {
    wait_for_the_end();
  }
}

/// No GIL while it exists.
class WithoutGil {
 public:
  WithoutGil() { thread_state = PyEval_SaveThread(); }
  ~WithoutGil() {
    unless_python_ends([] { PyEval_RestoreThread(thread_state); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
};

/// What `work` says, with the GIL, in a thread that has let go of it: see unless_python_ends.
template <class Work>
bool with_gil(const Work& work) {
  return unless_python_ends([&work] {
    PyEval_RestoreThread(thread_state);
    const bool said = work();
    thread_state = PyEval_SaveThread();
    return said;
  });
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
  return with_gil([] { return PyErr_CheckSignals() != 0; });
}

inline void raise_pending() {
  if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
}

/// TypeError if a list has None in it, which is a null pointer here.
template <class T>
void check_each(const std::vector<const T*>& list) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!list[i])
      throw nanobind::type_error(("the list has None at index " + std::to_string(i)).c_str());
}

/// Runs `work`, which must not touch Python objects, without the GIL.
template <class Work>
auto without_gil(Work&& work) {
  on_main_thread = main_thread == PyThread_get_thread_ident();
  const auto run = [&work] {
    const WithoutGil released;
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

// ---- a method of the library, taking what Python has and giving what Python wants

/// How Python hands over an argument of type T, and how the library gets it. As it is, but:
template <class T>
struct Handed {
  using Type = T;
  static T open(T value) { return value; }
};
/// numbers in NumPy's arrays,
template <class T>
requires is_number<T>
struct Handed<std::span<const T>> {
  using Type = const Input<T>&;
  static std::span<const T> open(Type value) { return as_span(value); }
};
/// objects in lists,
template <class T>
requires(std::is_class_v<T> && !is_number<T>) struct Handed<std::span<const T>> {
  using Type = const std::vector<T>&;
  static std::span<const T> open(Type value) { return value; }
};
template <class T>
struct Handed<std::span<const T* const>> {
  using Type = const std::vector<const T*>&;
  static std::span<const T* const> open(Type value) {
    check_each(value);
    return value;
  }
};
/// enumerations by name.
template <Named Enum>
struct Handed<Enum> {
  using Type = const std::string&;
  static Enum open(Type name) { return from_name<Enum>(name); }
};

template <class T>
auto shown(T value) {
  return value;
}
/// Vectors of numbers as NumPy's arrays.
template <class T>
requires is_number<T>
auto shown(std::vector<T> values) { return as_numpy(std::move(values)); }

/// A const method of `Class`, without the GIL; where there are several of a name, the one with the
/// `Result`, and the first `Arguments`, that are given.
template <class Class, class Result, class... Arguments>
auto calling(Result (Class::*method)(Arguments...) const) {
  return [method](const Class& self, typename Handed<Arguments>::Type... arguments) {
    const auto work = [&] { return (self.*method)(Handed<Arguments>::open(arguments)...); };
    if constexpr (std::is_void_v<Result>)
      without_gil(work);
    else
      return shown(without_gil(work));
  };
}

/// A function of the library on a `Server`, as its method; `Arguments` as for `calling`.
template <class Server, class... Arguments, class Result>
auto calling_with(Result (*function)(const Server&, Arguments...)) {
  return [function](const Server& self, typename Handed<Arguments>::Type... arguments) {
    return without_gil([&] { return function(self, Handed<Arguments>::open(arguments)...); });
  };
}

/// Asks for Ctrl-C alone.
inline Progress polling() {
  return [](std::size_t, std::size_t) { return !interrupted(); };
}

/// A callable of Python's that is told what is done, and of how much; or none.
using Report = std::optional<nb::typed<nb::callable, nb::object(std::size_t, std::size_t)>>;

/// The library's reports of progress, handed to a callable of Python's or to none; what that raises
/// stops the work and is raised once it has wound down.
inline Progress reporting(const Report& report) {
  return [&report](std::size_t done, std::size_t total) {
    if (!report) return !interrupted();
    return with_gil([&] {
      if (on_main_thread && PyErr_CheckSignals() != 0) return false;
      PyObject* const said = PyObject_CallFunction(
          report->ptr(), "nn", static_cast<Py_ssize_t>(done), static_cast<Py_ssize_t>(total));
      Py_XDECREF(said);
      return said != nullptr;
    });
  };
}

}  // namespace whorl::python

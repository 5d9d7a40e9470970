// A core in a shared library that is loaded at run time: core_abi.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/rtl/core.h"
#include "backend/rtl/core_abi.h"
#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

/// A loaded library. It stays loaded while one of its cores lives.
class CoreLibrary : public std::enable_shared_from_this<CoreLibrary> {
 public:
  /// DeviceError names the file and what is wrong with it.
  static std::shared_ptr<const CoreLibrary> load(const std::string& path);
  /// Where the library is looked for: $WHORL_RTL_CORE, or whorl_rtl_core.so in the folder of this
  /// library; empty where that folder is not known.
  static std::string path();
  /// What to say where there is none.
  static std::string missing(const std::string& path);
  ~CoreLibrary();
  CoreLibrary(const CoreLibrary&) = delete;
  CoreLibrary& operator=(const CoreLibrary&) = delete;

  const Shape& shape() const { return shape_; }
  /// `interrupt`: polled while a run goes on; true: InterruptedError.
  std::unique_ptr<Core> create(std::function<bool()> interrupt) const;

 private:
  friend class LibraryCore;
  struct Functions {
    decltype(&whorl_rtl_create) create;
    decltype(&whorl_rtl_destroy) destroy;
    decltype(&whorl_rtl_error) error;
    decltype(&whorl_rtl_read) read;
    decltype(&whorl_rtl_write) write;
    decltype(&whorl_rtl_resize) resize;
    decltype(&whorl_rtl_store) store;
    decltype(&whorl_rtl_load) load;
    decltype(&whorl_rtl_timing) timing;
    decltype(&whorl_rtl_step) step;
  };
  CoreLibrary(std::string path, void* handle);

  std::string path_;
  void* handle_;
  Functions functions_{};
  Shape shape_;
};

}  // namespace whorl::backend::rtl

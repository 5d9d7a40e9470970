// Devices, and room on them for keys, which servers of any scheme share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "whorl/common.h"
#include "whorl/devices.h"

namespace whorl {

class Session;
namespace run {
struct SessionState;
const std::shared_ptr<const SessionState>& state_of(const Session& session);
}  // namespace run

/// The options say where servers work. A server that opens a session of its own takes them, too.
struct SessionOptions {
  /// "cpu"; "cuda" (the first GPU), "cuda:1", several GPUs as "cuda:0,1" or "cuda:all"; "" takes a
  /// GPU that can be used, or else the CPU. DeviceError if a named device is not there; no other
  /// device takes its place.
  std::string device = {};
  unsigned threads = 0;  ///< host threads; 0: all cores
  /// Long calls ask this in the calling thread; if it returns true, they throw InterruptedError.
  Interrupt interrupt = {};
  /// Bytes that keys may take on each device; the keys used least recently leave it then, and come
  /// back when they are used. A call that uses a single larger key throws OutOfMemoryError. 0 means
  /// no bound: then keys are prepared when a server is made.
  std::size_t key_bytes = 0;
};

/// Opened devices. Servers of any scheme that are given one session share its devices, its threads
/// and its room for keys: their keys take turns, and where memory is short, arrays of one of them
/// that are not in use wait in the host's memory for a call of another. Servers of one scheme with
/// the same parameters and key take each other's arrays: one may have the keys for rotations, say,
/// and another those for bootstraps. Copies are the same session, which is open until the last copy
/// and the last of its servers are gone. Several threads may use it at once.
class Session {
 public:
  explicit Session(const SessionOptions& options);

  const std::string& device() const;  ///< "cuda:0 (NVIDIA H200)"; several joined by ", "
  const std::vector<std::string>& devices() const;   ///< the name of each device
  std::vector<FailedDevice> failed_devices() const;  ///< those that are not used any more
  unsigned threads() const;                          ///< host threads of the first device
  std::size_t key_bytes() const;                     ///< as in SessionOptions; 0: no bound
  /// Waits until all work of its servers is done.
  void synchronise() const;

 private:
  friend const std::shared_ptr<const run::SessionState>& run::state_of(const Session& session);
  std::shared_ptr<const run::SessionState> state_;
};

}  // namespace whorl

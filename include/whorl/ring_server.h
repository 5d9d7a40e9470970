// What servers of the schemes over RNS rings share: arrays on their devices, and what they say of
// themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "whorl/common.h"
#include "whorl/ring_costs.h"
#include "whorl/ring_keys.h"
#include "whorl/session.h"

namespace whorl {

namespace lattice::rlwe {
class Array;
}

/// A batch of ciphertexts on a server's devices; if there are several, it is spread over them.
/// Copies share the memory, which never changes. An array may outlive its server. Any thread may
/// destroy it, also while another thread is inside a call of the server. Servers on one Session
/// with the same parameters and key, which may have different evaluation keys, take each other's
/// arrays.
template <class Info>
class RingArray {
 public:
  const Info& info() const { return info_; }
  /// Bytes on the devices.
  std::size_t bytes() const;

 protected:
  template <class, class, class>
  friend class RingServer;

  Info info_;
  std::shared_ptr<const lattice::rlwe::Array> residues_;
};

template <class Server, class KeyRequest>
class RingDryRun;
template <class State>
struct RingAccess;

/// The base class of the schemes' servers. A scheme's library knows its `State`, which users do
/// not.
template <class Parameters, class Info, class State>
class RingServer {
 public:
  /// Opens a session of its own.
  explicit RingServer(const RingEvaluationKeys<Parameters>& keys,
                      const SessionOptions& options = {})
      : RingServer(keys, Session(options)) {}
  RingServer(const RingEvaluationKeys<Parameters>& keys, const Session& session);

  const Parameters& parameters() const;
  const KeyId& key_id() const;
  const std::string& device() const;  ///< "cuda:0 (NVIDIA H200)"; several joined by ", "
  const std::vector<std::string>& devices() const;   ///< the name of each device
  unsigned threads() const;                          ///< host threads of the first device
  std::vector<FailedDevice> failed_devices() const;  ///< the oldest failure first
  std::size_t key_bytes() const;                     ///< bytes that keys take on the devices now

  /// Throws unless operations take the array: those of this server, and of others on its session
  /// with the same parameters and key. DeviceError for one of another session, KeyMismatchError or
  /// ParameterMismatchError for one of another key or of other parameters.
  void check(const RingArray<Info>& a) const;
  /// Copies an array to the host.
  RingCiphertexts<Parameters, Info> download(const RingArray<Info>& a) const;
  /// Waits until all work so far is done.
  void synchronise() const;

 protected:
  template <class, class>
  friend class RingDryRun;
  friend struct RingAccess<State>;

  explicit RingServer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// The base class of the schemes' dry runs. A dry run is a server without keys and residues, which
/// says what a circuit needs before there is a key. Its arrays have the public facts and the sizes
/// that they would have; operations and circuits give the same facts and throw the same errors as
/// those of a Server that has all keys. It uses no device, and download() throws DeviceError.
/// Several threads may call it.
template <class Server, class KeyRequest>
class RingDryRun {
 public:
  const Server& server() const { return server_; }
  /// The keys that operations have asked for. Rotations are as near to 0 as can be, from -N/4 + 1
  /// to N/4.
  KeyRequest asked() const;
  /// What operations have cost so far, with all keys that they have asked for.
  RingCosts costs() const;

 protected:
  template <class State>
  explicit RingDryRun(std::shared_ptr<const State> state) : server_(std::move(state)) {}
  const auto& state() const { return server_.state(); }

 private:
  Server server_;
};

}  // namespace whorl

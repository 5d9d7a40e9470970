// What servers of the schemes over RNS rings share: arrays on their devices, and what they say of
// themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "whorl/common.h"
#include "whorl/session.h"

namespace whorl {

namespace lattice::rlwe {
class Array;
}

/// A batch of ciphertexts on a server's devices; if there are several, it is spread over them.
/// Copies share the memory, which never changes. An array may outlive its server. Any thread may
/// destroy it, also while another thread is inside a call of the server.
template <class Info>
class RingArray {
 public:
  const Info& info() const { return info_; }
  /// Bytes on the devices.
  std::size_t bytes() const;

 protected:
  Info info_;
  std::shared_ptr<const lattice::rlwe::Array> residues_;
};

template <class Parameters>
struct RingServerState;

/// The base class of the schemes' servers.
template <class Parameters>
class RingServer {
 public:
  const Parameters& parameters() const;
  const KeyId& key_id() const;
  const std::string& device() const;  ///< "cuda:0 (NVIDIA H200)"; several joined by ", "
  const std::vector<std::string>& devices() const;   ///< the name of each device
  unsigned threads() const;                          ///< host threads of the first device
  std::vector<FailedDevice> failed_devices() const;  ///< the oldest failure first

 protected:
  explicit RingServer(std::shared_ptr<const RingServerState<Parameters>> state)
      : state_(std::move(state)) {}
  std::shared_ptr<const RingServerState<Parameters>> state_;
};

}  // namespace whorl

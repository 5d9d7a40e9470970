// When the memory behind a core's ports answers, cycle by cycle: for the model of the core and for
// its simulation, which so see the same memory. It depends on the order of bursts and beats, and
// not on when a run begins. Everything is in this header, which needs nothing but the standard
// library.
//
// A port takes an address a cycle. A burst's beats follow each other, one a cycle at most, the
// first no earlier than `latency` cycles after its address, in the order of the bursts. A beat that
// is late comes `stall_cycles` later, and so may an address be taken. All ports share
// `bytes_a_cycle`, and take turns in who comes first. Calls of a cycle: in_turns() of the budget,
// with look() of each port; then what it offers (arready, rvalid, …); then, with what the core did,
// its end().
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "backend/rtl/core.h"

namespace whorl::backend::rtl {

/// Bytes that all ports may move in a cycle; up to 4,096 are saved.
class Budget {
 public:
  explicit Budget(std::uint32_t bytes_a_cycle = 0) : rate_(bytes_a_cycle), left_(most) {}
  /// A cycle: look(k) for each k below `ports`, first the one after the last that took bytes.
  template <class Look>
  void in_turns(std::uint32_t ports, Look look) {
    if (rate_) left_ = std::min(left_ + rate_, most);
    const std::uint32_t first = first_;
    for (std::uint32_t k = 0; k < ports; ++k) {
      const std::uint32_t port = (first + k) % ports;
      taken_ = false;
      look(port);
      if (taken_) first_ = (port + 1) % ports;
    }
  }
  bool has(std::uint32_t bytes) const { return rate_ == 0 || left_ >= bytes; }
  void take(std::uint32_t bytes) {
    if (rate_) left_ -= bytes;
    taken_ = true;
  }

 private:
  static constexpr std::uint64_t most = 4096;
  std::uint64_t rate_, left_;
  std::uint32_t first_ = 0;
  bool taken_ = false;
};

/// Which beats are late.
class Lateness {
 public:
  Lateness(const MemoryTiming& timing, std::uint64_t stream)
      : state_(timing.seed * 0x9E3779B97F4A7C15ull + stream),
        stall_(timing.stall),
        cycles_(timing.stall_cycles) {}
  std::uint32_t next() {  // splitmix64
    if (stall_ == 0) return 0;
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return ((z ^ (z >> 31)) & 255) < stall_ ? cycles_ : 0;
  }

 private:
  std::uint64_t state_;
  std::uint32_t stall_, cycles_;
};

class ReadTiming {
 public:
  ReadTiming(const MemoryTiming& timing, Port port, std::uint32_t beat_bytes)
      : latency_(timing.latency),
        bytes_(beat_bytes),
        address_late_(timing, 4 * port),
        beat_late_(timing, 4 * port + 1) {}

  /// Whether a beat comes in this cycle; it takes its bytes.
  void look(Budget& budget) {
    valid_ =
        !bursts_.empty() && beat_wait_ == 0 && bursts_.front().from <= now_ && budget.has(bytes_);
    if (valid_) budget.take(bytes_);
  }
  bool arready() const { return address_wait_ == 0; }
  bool rvalid() const { return valid_; }
  /// The burst to which the beat belongs, which is its beat number `beat()`.
  std::uint64_t address() const { return bursts_.front().address; }
  std::uint32_t beat() const { return beat_; }

  /// `asks`: arvalid in this cycle, with the burst's address and beats.
  void end(bool asks, std::uint64_t address, std::uint32_t beats) {
    const bool taken = asks && arready();
    if (address_wait_ > 0) --address_wait_;
    if (beat_wait_ > 0) --beat_wait_;
    if (valid_) {
      beat_wait_ = beat_late_.next();
      if (++beat_ == bursts_.front().beats) {
        bursts_.pop_front();
        beat_ = 0;
      }
    }
    if (taken) {
      bursts_.push_back({address, beats, now_ + std::max(latency_, 1u)});
      address_wait_ = address_late_.next();
    }
    ++now_;
  }
  bool idle() const { return bursts_.empty(); }

 private:
  struct Burst {
    std::uint64_t address;
    std::uint32_t beats;
    std::uint64_t from;
  };
  std::uint32_t latency_, bytes_;
  Lateness address_late_, beat_late_;
  std::uint64_t now_ = 0;
  std::uint32_t address_wait_ = 0, beat_wait_ = 0, beat_ = 0;
  bool valid_ = false;
  std::deque<Burst> bursts_;
};

/// One burst at a time, as the core writes.
class WriteTiming {
 public:
  WriteTiming(const MemoryTiming& timing, Port port, std::uint32_t beat_bytes)
      : latency_(timing.latency),
        bytes_(beat_bytes),
        address_late_(timing, 4 * port + 2),
        beat_late_(timing, 4 * port + 3) {}

  /// Sees the core's wvalid, for which bytes are taken.
  void look(bool wvalid, Budget& budget) {
    ready_ = beat_wait_ == 0 && budget.has(bytes_);
    if (wvalid && ready_) budget.take(bytes_);
  }
  bool awready() const { return address_wait_ == 0; }
  bool wready() const { return ready_; }
  bool bvalid() const { return answer_at_ != 0 && answer_at_ <= now_; }

  /// What the core held up in this cycle; its bready is always 1.
  void end(bool awvalid, bool wvalid, bool wlast) {
    const bool address = awvalid && awready(), beat = wvalid && ready_;
    if (bvalid()) answer_at_ = 0;
    if (address_wait_ > 0) --address_wait_;
    if (beat_wait_ > 0) --beat_wait_;
    if (address) address_wait_ = address_late_.next();
    if (beat) beat_wait_ = beat_late_.next();
    addresses_ += address;
    lasts_ += beat && wlast;
    // The answer follows the later of the address and the last beat.
    if (addresses_ > 0 && lasts_ > 0) {
      --addresses_;
      --lasts_;
      answer_at_ = now_ + std::max(latency_, 1u);
    }
    ++now_;
  }

 private:
  std::uint32_t latency_, bytes_;
  Lateness address_late_, beat_late_;
  std::uint64_t now_ = 0, answer_at_ = 0;
  std::uint32_t address_wait_ = 0, beat_wait_ = 0, addresses_ = 0, lasts_ = 0;
  bool ready_ = false;
};

}  // namespace whorl::backend::rtl

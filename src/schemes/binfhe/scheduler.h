// Splits a batch over engines by their measured speed and carries on without one that fails.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "schemes/binfhe/engine.h"

namespace whorl::binfhe {

/// For DeviceOptions::interrupt of devices that a scheduler is to use: asks `interrupt`, which must
/// be called from the thread that made the call only; in the scheduler's own threads it tells
/// whether that one has said stop.
std::function<bool()> scheduled(std::function<bool()> interrupt);

class Scheduler {
 public:
  /// Ciphertexts a device should have before a batch is spread over another. A GPU takes about as
  /// long for one as for a thousand.
  static constexpr std::size_t usual_share = 1024;

  /// At least one engine; `interrupt` comes from scheduled().
  Scheduler(std::vector<std::unique_ptr<Engine>> engines, std::function<bool()> interrupt,
            std::size_t least_share = usual_share);

  const std::vector<std::unique_ptr<Engine>>& engines() const { return engines_; }
  /// (name, message) of the engines that failed and are not used any more, oldest first.
  std::vector<std::pair<std::string, std::string>> failed() const;

  /// Does ciphertexts 0 … count - 1. What a failing engine leaves is done by the others;
  /// DeviceError names all of them if none is left. May be called from several threads at once.
  void run(const Job& job, std::size_t count) const;

 private:
  struct Share {
    std::size_t engine = 0;
    Range range;
  };
  struct Outcome;
  std::vector<Share> split(Range range, const std::vector<bool>& excluded) const;
  std::vector<Outcome> work(const Job& job, const std::vector<Share>& shares) const;
  void learn(const std::vector<Share>& shares, const std::vector<Outcome>& outcomes) const;
  void mark_failed(std::size_t engine, const std::string& message) const;

  std::vector<std::unique_ptr<Engine>> engines_;
  std::function<bool()> interrupt_;
  std::size_t least_share_;

  struct Standing {
    double speed = 1;       ///< ciphertexts/s relative to the others'
    std::size_t calls = 0;  ///< in progress
    bool failed = false;
  };
  mutable std::mutex mutex_;  ///< of those below
  mutable std::vector<Standing> standing_;
  mutable std::vector<std::pair<std::string, std::string>> failures_;
};

}  // namespace whorl::binfhe

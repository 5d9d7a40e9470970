// Where the ciphertexts of a network are refreshed: the cheapest way through the levels, found as a
// shortest path. (Ebel, Garimella, Reagen, Orion, ASPLOS 2025.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "whorl/ckks/parameters.h"
#include "whorl/common.h"

namespace whorl::networks {

/// An operation on ciphertexts, as far as a plan sees it. A network is a list of them in the order
/// in which a server runs them: the first one is its input, the last one makes its result.
struct Step {
  std::string name;  ///< for errors
  /// Numbers of the steps before it whose results it takes, at least one; of the first step none.
  std::vector<std::size_t> inputs;
  unsigned depth = 0;  ///< levels that it takes
  double work = 0;     ///< key switches that it takes, about
  /// No value of its result is larger. Above 1 the result cannot be refreshed.
  double bound = 1;
  unsigned parts = 1;  ///< ciphertexts that its result takes; a bootstrap refreshes all of them
};

/// The levels that a placement has, each up to 127.
struct Levels {
  unsigned fresh = 0;      ///< that of inputs
  unsigned refreshed = 0;  ///< that of what a bootstrap gives; 0: there are no bootstraps
  unsigned least = 0;      ///< the lowest level that can be refreshed; results may go below
};

/// The levels of parameters.
Levels levels_of(const ckks::Parameters& parameters);

/// A bootstrap: the result of step `operand` is refreshed before step `step`, which takes it, for
/// this one and all that take it later.
struct Refresh {
  std::size_t step = 0, operand = 0;
  bool operator==(const Refresh&) const = default;
};

/// Key switches of a bootstrap of one ciphertext, about, at the level of its result.
inline constexpr double work_of_refresh = 150;

/// Levels that a network takes if nothing is refreshed. ShapeError unless there is a step, the
/// first one has no inputs, and the others have inputs, of steps before them; ParameterError for
/// work and bounds that are negative or not finite, and for results of no ciphertext.
std::uint64_t total_depth(std::span<const Step> steps);

/// The bootstraps of the cheapest way, in the order in which they come. A step costs its work times
/// the rows of residues at the level where it is done, the mean of those before and behind it.
///
/// The nodes of the graph are the levels of all results that are still needed; `progress` counts
/// steps. NoiseError names a step that takes more levels than there are. ParameterError names a
/// step at which so many results are needed that their levels have too many combinations: more than
/// 2^23 levels would be compared there, which takes a second or so. ParameterError for levels out
/// of range or above one another; otherwise errors as of total_depth.
std::vector<Refresh> place(std::span<const Step> steps, const Levels& levels,
                           const Progress& progress = {});

/// A step of a network with bootstraps: a bootstrap, or one of the steps that were given.
struct PlacedStep {
  std::size_t step = 0;  ///< which one it is, or which one a bootstrap comes before
  bool is_bootstrap = false;
  std::vector<std::size_t> inputs;  ///< numbers of placed steps before it
  /// The level of its result, at least: the terms of a sum that stay as they are keep theirs.
  unsigned level = 0;
};

/// The steps with their bootstraps, in order. ParameterError for a bootstrap that comes twice, of a
/// result that the step does not take, that values or levels do not allow, or out of order;
/// otherwise errors as of place.
std::vector<PlacedStep> with_refreshes(std::span<const Step> steps,
                                       std::span<const Refresh> refreshes, const Levels& levels);

}  // namespace whorl::networks

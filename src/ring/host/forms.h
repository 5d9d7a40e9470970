// What a pass of a transform is told at compile time.
#pragma once

#include <cstdint>

namespace whorl::ring {

enum class Direction : std::uint8_t { forward, inverse };
/// The order of values in evaluation form: that of the plan, or the one in which they leave a pass.
enum class Order : std::uint8_t { internal, standard };
/// Values between the levels of an NTT: below 4q ("lazy", Harvey 2014, where 4q fits a word), or q.
enum class Reduction : std::uint8_t { lazy, full };
/// The values of an NTT that a forward butterfly takes: below 2q, or 4q.
enum class Below : std::uint8_t { two_q, four_q };
/// A factor is one word throughout a vector, or a word a lane.
enum class Twiddles : std::uint8_t { one, per_lane };
/// A butterfly of the FFT multiplies by its twiddle w, or by i·w.
enum class Times : std::uint8_t { w, i_w };

}  // namespace whorl::ring

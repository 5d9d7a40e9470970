// Names of FHEW/TFHE's choices.
#pragma once

#include "common/bindings.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/server.h"

namespace whorl::python {

using binfhe::Gate, binfhe::KeySwitch, binfhe::LutKind, binfhe::RotationSchedule;
using binfhe::RotationKind, binfhe::SecretDistribution, binfhe::Transform;

template <>
inline constexpr Choice<Transform, 2> choice<Transform>{
    "transform", {{{"ntt", Transform::ntt}, {"fft", Transform::fft}}}};

template <>
inline constexpr Choice<SecretDistribution, 4> choice<SecretDistribution>{
    "secret",
    {{{"binary", SecretDistribution::binary},
      {"ternary", SecretDistribution::ternary},
      {"gaussian", SecretDistribution::gaussian},
      {"block_binary", SecretDistribution::block_binary}}}};

template <>
inline constexpr Choice<KeySwitch, 2> choice<KeySwitch>{
    "key_switch", {{{"table", KeySwitch::table}, {"product", KeySwitch::product}}}};

template <>
inline constexpr Choice<RotationKind, 6> choice<RotationKind>{
    "rotation",
    {{{"ginx", RotationKind::ginx},
      {"unrolled", RotationKind::unrolled},
      {"ap", RotationKind::ap},
      {"automorphism", RotationKind::automorphism},
      {"unrolled_all", RotationKind::unrolled_all},
      {"block", RotationKind::block}}}};

template <>
inline constexpr Choice<LutKind, 4> choice<LutKind>{
    "kind",
    {{{"negacyclic", LutKind::negacyclic},
      {"padded", LutKind::padded},
      {"arbitrary", LutKind::arbitrary},
      {"near_negacyclic", LutKind::near_negacyclic}}}};

template <>
inline constexpr Choice<RotationSchedule, 5> choice<RotationSchedule>{
    "rotation",
    {{{"auto", RotationSchedule::automatic},
      {"single", RotationSchedule::single},
      {"cluster", RotationSchedule::cluster},
      {"grid", RotationSchedule::grid},
      {"shared", RotationSchedule::shared}}}};

template <>
inline constexpr Choice<Gate, 11> choice<Gate>{"gate",
                                               {{{"and", Gate::and_},
                                                 {"or", Gate::or_},
                                                 {"nand", Gate::nand},
                                                 {"nor", Gate::nor},
                                                 {"xor", Gate::xor_},
                                                 {"xnor", Gate::xnor},
                                                 {"majority", Gate::majority},
                                                 {"and3", Gate::and3},
                                                 {"or3", Gate::or3},
                                                 {"and4", Gate::and4},
                                                 {"or4", Gate::or4}}}};

}  // namespace whorl::python

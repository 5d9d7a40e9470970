// Names of FHEW/TFHE's choices.
#pragma once

#include "common/bindings.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/server.h"

namespace whorl::python {

template <>
struct Choice<binfhe::Transform> {
  using Error = ParameterError;
  static constexpr const char* field = "transform";
  static constexpr std::pair<const char*, binfhe::Transform> names[] = {
      {"ntt", binfhe::Transform::ntt}, {"fft", binfhe::Transform::fft}};
};

template <>
struct Choice<binfhe::SecretDistribution> {
  using Error = ParameterError;
  static constexpr const char* field = "secret";
  static constexpr std::pair<const char*, binfhe::SecretDistribution> names[] = {
      {"binary", binfhe::SecretDistribution::binary},
      {"ternary", binfhe::SecretDistribution::ternary},
      {"gaussian", binfhe::SecretDistribution::gaussian}};
};

template <>
struct Choice<binfhe::KeySwitch> {
  using Error = ParameterError;
  static constexpr const char* field = "key_switch";
  static constexpr std::pair<const char*, binfhe::KeySwitch> names[] = {
      {"table", binfhe::KeySwitch::table}, {"product", binfhe::KeySwitch::product}};
};

template <>
struct Choice<binfhe::LutKind> {
  using Error = ParameterError;
  static constexpr const char* field = "kind";
  static constexpr std::pair<const char*, binfhe::LutKind> names[] = {
      {"negacyclic", binfhe::LutKind::negacyclic},
      {"padded", binfhe::LutKind::padded},
      {"arbitrary", binfhe::LutKind::arbitrary}};
};

template <>
struct Choice<binfhe::RotationSchedule> {
  using Error = ParameterError;
  static constexpr const char* field = "rotation";
  static constexpr std::pair<const char*, binfhe::RotationSchedule> names[] = {
      {"auto", binfhe::RotationSchedule::automatic},
      {"single", binfhe::RotationSchedule::single},
      {"cluster", binfhe::RotationSchedule::cluster},
      {"shared", binfhe::RotationSchedule::shared}};
};

template <>
struct Choice<binfhe::Gate> {
  using Error = ParameterError;
  using G = binfhe::Gate;
  static constexpr const char* field = "gate";
  static constexpr std::pair<const char*, G> names[] = {
      {"and", G::and_},   {"or", G::or_},     {"nand", G::nand},         {"nor", G::nor},
      {"xor", G::xor_},   {"xnor", G::xnor},  {"majority", G::majority}, {"and3", G::and3},
      {"or3", G::or3},    {"and4", G::and4},  {"or4", G::or4}};
};

}  // namespace whorl::python

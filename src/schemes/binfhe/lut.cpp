#include "whorl/binfhe/lut.h"

#include "schemes/binfhe/derived.h"

namespace whorl::binfhe {

namespace {

bool is_negacyclic(std::span<const std::uint32_t> values, Encoding input, Encoding output) {
  if (input.p % 2 != 0 || output.padding) return false;
  for (std::size_t m = 0; m < input.p / 2; ++m)
    if ((values[m] + values[m + input.p / 2]) % output.p != 0) return false;
  return true;
}

}  // namespace

Lut Lut::create(const Parameters& parameters, std::vector<std::uint32_t> values, Encoding input,
                Encoding output) {
  check_encoding(parameters, input);
  check_encoding(parameters, output);
  if (values.size() != input.p)
    throw EncodingError("a table for p = " + std::to_string(input.p) + " has " +
                        std::to_string(values.size()) + " values");
  for (std::size_t m = 0; m < values.size(); ++m)
    if (values[m] >= output.p)
      throw EncodingError("table value " + std::to_string(values[m]) + " at " + std::to_string(m) +
                          " is not below the output's p = " + std::to_string(output.p));
  const LutKind kind = input.padding                          ? LutKind::padded
                       : is_negacyclic(values, input, output) ? LutKind::negacyclic
                                                              : LutKind::arbitrary;
  if (kind == LutKind::arbitrary && input.p > parameters.N() / 4)
    throw EncodingError("an arbitrary table has p at most N/4 = " +
                        std::to_string(parameters.N() / 4) + ", not " + std::to_string(input.p));
  return {parameters, std::move(values), input, output, kind};
}

Lut Lut::create(const Parameters& parameters,
                const std::function<std::uint32_t(std::uint32_t)>& function, Encoding input,
                Encoding output) {
  check_encoding(parameters, input);
  std::vector<std::uint32_t> values(input.p);
  for (std::uint32_t m = 0; m < input.p; ++m) values[m] = function(m);
  return create(parameters, std::move(values), input, output);
}

}  // namespace whorl::binfhe

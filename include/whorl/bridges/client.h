// The keys between FHEW/TFHE and CKKS, which a client makes that holds both secret keys, and those
// that compress results of FHEW/TFHE.
#pragma once

#include "whorl/binfhe/client.h"
#include "whorl/bridges/compression.h"
#include "whorl/bridges/lanes.h"
#include "whorl/bridges/lwe_output.h"
#include "whorl/bridges/products.h"
#include "whorl/ckks/client.h"
#include "whorl/common.h"

namespace whorl::bridges {

/// Makes the keys that take LWE ciphertexts of `from` into lanes of `to`, on `threads` threads (0:
/// all cores; at most 1024, else ParameterError). Progress counts coefficients of the LWE key.
/// ParameterError unless the bootstraps of `to` are made for bits.
LweInputKeys lwe_input_keys(const ckks::Client& to, const binfhe::Client& from,
                            unsigned threads = 0, const Progress& progress = {});

/// Makes the keys that give lanes of `from` out as LWE ciphertexts of `to`.
LweOutputKeys lwe_output_keys(const ckks::Client& from, const binfhe::Client& to,
                              unsigned threads = 0, const Progress& progress = {});

/// Makes the keys with which a server compresses results. Progress counts coefficients of the LWE
/// key.
CompressionKeys compression_keys(const binfhe::Client& client, unsigned threads = 0,
                                 const Progress& progress = {});

/// Makes the keys with which a server multiplies integers through ring elements. Progress counts
/// coefficients of the LWE key.
ProductKeys product_keys(const binfhe::Client& client, unsigned threads = 0,
                         const Progress& progress = {});

/// Bytes of LweInputKeys, without making them.
std::size_t lwe_input_key_bytes(const ckks::Parameters& to, const binfhe::Parameters& from);

}  // namespace whorl::bridges

// All of CKKS: parameters, client, server.
#pragma once

#include "whorl/ckks/ciphertexts.h"
#include "whorl/ckks/client.h"
#include "whorl/ckks/compact_bits.h"
#include "whorl/ckks/parameters.h"
#include "whorl/ckks/server.h"

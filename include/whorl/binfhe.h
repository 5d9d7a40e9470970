// FHEW/TFHE: parameters, the client's half, the server's half.
#pragma once

#include "whorl/binfhe/ciphertexts.h"
#include "whorl/binfhe/client.h"
#include "whorl/binfhe/lut.h"
#include "whorl/binfhe/packed.h"
#include "whorl/binfhe/parameters.h"
#include "whorl/binfhe/program.h"
#include "whorl/binfhe/server.h"

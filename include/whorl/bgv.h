// Includes all headers of BGV.
#pragma once

#include "whorl/bgv/ciphertexts.h"
#include "whorl/bgv/client.h"
#include "whorl/bgv/parameters.h"
#include "whorl/bgv/server.h"

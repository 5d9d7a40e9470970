// What every program of bench/ starts from.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.h"
#include "common/devices.h"
#include "common/records.h"
#include "common/statistics.h"
#include "whorl/error.h"

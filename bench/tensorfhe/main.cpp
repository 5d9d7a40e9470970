#include <cstdlib>
#include "common/command_line.h"
#include "tensorfhe/matrix_tables.h"
int main() { return whorl::bench::matrix::check_on_host(13) ? 0 : 1; }

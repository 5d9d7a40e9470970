# What the library links. Also installed, so that a static library's users find the same.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(whorl_hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy>=1.0.3)
pkg_check_modules(whorl_sodium REQUIRED IMPORTED_TARGET GLOBAL libsodium>=1.0.18)

# Flags of everything Whorl compiles. They stay out of the installed package: a user's own code
# keeps the user's own flags.

set(whorl_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wcast-align
    -Wundef
    -Wvla)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # __int128 is what the 64-bit reductions are made of, and __extension__ at every use is noise.
  list(APPEND whorl_warnings -Wno-pedantic)
else()
  list(APPEND whorl_warnings -Wno-gnu-anonymous-struct -Wno-nested-anon-types)
endif()

# No -ffast-math: the error bound of the transforms counts roundings. Contraction is left to the
# code (MulAdd), so that two compilers give the same bits.
set(whorl_codegen -fno-math-errno -ffp-contract=off)
# The CPUs that Whorl is for count bits in one instruction (x86-64-v2). Without it, counting the
# primes of bases took a tenth of the host's work in a light operation.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND whorl_codegen -mpopcnt)
endif()
# Highway compiles for NEON with these instructions, though Whorl uses none of them; constructors
# that gcc makes by itself, which call Highway's, must be compiled for the same.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND whorl_codegen -march=armv8-a+crypto)
endif()

# Each Highway target is one more compilation of the transforms. Scalar, AVX2 and AVX-512 are the
# ones that differ in kind; the rest would buy little on machines that are rare. The scalar one is
# EMU128, but HWY_SCALAR (one lane) with gcc before 12.3, whose vectoriser miscompiles EMU128 (gcc
# bug 106322). On Arm it is NEON alone: the code keeps vectors in arrays, and those of SVE have no
# size that a compiler knows.
set(whorl_left_out HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(whorl_left_out HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)
endif()

if(WHORL_SANITIZE)
  add_compile_options(-fsanitize=${WHORL_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WHORL_SANITIZE})
endif()

function(whorl_target_flags target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${whorl_warnings}>
            $<$<COMPILE_LANGUAGE:CXX>:${whorl_codegen}>
            $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-O3>
            $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WHORL_WERROR}>>:-Werror>)
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${whorl_left_out})")
endfunction()

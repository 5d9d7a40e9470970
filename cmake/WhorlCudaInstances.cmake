# The templates of src/backend/cuda/dispatch that take minutes to compile: each line here is a file
# of its own, made of dispatch/instance.cu.in, so that they are compiled side by side.

# Appends to whorl_cuda_instances the file `name`, which instantiates `declarations` of `header`.
function(whorl_cuda_instance name header)
  list(JOIN ARGN ";\ntemplate " declarations)
  string(CONFIGURE "template @declarations@;\n" declarations @ONLY)
  configure_file("${PROJECT_SOURCE_DIR}/src/backend/cuda/dispatch/instance.cu.in"
                 "${PROJECT_BINARY_DIR}/instances/${name}.cu" @ONLY)
  set(whorl_cuda_instances ${whorl_cuda_instances} "${PROJECT_BINARY_DIR}/instances/${name}.cu"
      PARENT_SCOPE)
endfunction()

set(whorl_cuda_instances "")

# Transforms
foreach(bits 32 64)
  set(word std::uint${bits}_t)
  set(launch "Launch<NttArguments<${word}>>")
  foreach(direction forward inverse)
    whorl_cuda_instance(
      choose_ntt_${bits}_${direction} transforms/choose_ntt.cuh
      "Launches<NttArguments<${word}>> choose_ntt<${word}, Direction::${direction}>(Many, std::uint32_t, ${word})")
  endforeach()
  foreach(ends converts converts_and_divides)
    whorl_cuda_instance(
      ntt_ends_${bits}_${ends} transforms/ntt_ends.cuh
      "${launch} converting_launch<${word}, NttEnds::${ends}>(std::uint32_t, ${word})")
  endforeach()
  foreach(end dividing multiplying)
    whorl_cuda_instance(ntt_ends_${bits}_${end} transforms/ntt_ends.cuh
                        "${launch} ${end}_launch(Many, std::uint32_t, ${word})")
  endforeach()
endforeach()

# Blind rotation by FFT
set(key "const Stream&, const FftKeyArrays&")
foreach(words narrow wide one_digit)
  set(batch "const RotationBatch<std::uint64_t>&")
  if(words STREQUAL narrow)
    set(batch "const RotationBatch<std::uint32_t>&")
  endif()
  foreach(keys 1 2)
    whorl_cuda_instance(
      rotation_fft_${words}_${keys} rotation/rotation_fft_launch.cuh
      "void launch_rotate_fft<${keys}, FftWords::${words}>(${key}, BlindRotation, ${batch})")
    whorl_cuda_instance(
      rotation_fft_split_${words}_${keys} rotation/rotation_fft_split.cuh
      "bool launch_rotate_fft_split<${keys}, FftWords::${words}>(${key}, const SplitTables&, BlindRotation, ${batch})")
  endforeach()
  foreach(form all block differences)
    whorl_cuda_instance(
      rotation_fft_${form}_${words} rotation/rotation_fft_unrolled.cuh
      "void launch_rotate_fft_unrolled<BundleForm::${form}, FftWords::${words}>(${key}, ${batch})"
      "std::uint32_t unrolled_at_once<BundleForm::${form}, FftWords::${words}>(${key})")
  endforeach()
  whorl_cuda_instance(
    rotation_fft_linked_${words} rotation/rotation_fft_linked.cuh
    "bool linked_fits<FftWords::${words}>(${key})"
    "std::uint32_t linked_at_once<FftWords::${words}>(${key})"
    "void launch_rotate_fft_linked<FftWords::${words}>(${key}, BlindRotation, ${batch})")
  foreach(steps digits automorphisms)
    whorl_cuda_instance(
      rotation_fft_walk_${words}_${steps} rotation/rotation_fft_walk.cuh
      "void launch_rotate_fft_walk<FftWords::${words}, WalkSteps::${steps}>(${key}, const WalkTables&, ${batch})")
  endforeach()
endforeach()
foreach(form all block differences)
  foreach(words narrow wide)
    whorl_cuda_instance(
      fft_bundles_${form}_${words} rotation/fft_bundles.cuh
      "void launch_make_fft_bundles<BundleForm::${form}, FftWords::${words}>(${key}, const std::uint32_t*, std::uint32_t, std::uint32_t, double2*, const BundleProgress&)")
  endforeach()
endforeach()

foreach(form all differences)
  foreach(words narrow wide)
    whorl_cuda_instance(
      matrix_bundles_${form}_${words} rotation/matrix_bundles.cuh
      "void launch_make_matrix_bundles<BundleForm::${form}, FftWords::${words}>(${key}, const std::uint32_t*, std::uint32_t, std::uint32_t, double2*, const BundleProgress&)")
  endforeach()
endforeach()

# Blind rotation by NTT
foreach(bits 32 64)
  set(key "const Stream&, const NttKeyArrays<std::uint${bits}_t>&")
  set(walk "const Stream&, const NttWalkArrays<std::uint${bits}_t>&")
  set(batch "const RotationBatch<std::uint${bits}_t>&")
  foreach(keys 1 2)
    whorl_cuda_instance(rotation_ntt_${bits}_${keys} rotation/rotation_ntt_launch.cuh
                        "void launch_rotate_ntt<${keys}>(${key}, BlindRotation, ${batch})")
  endforeach()
  foreach(form all block differences)
    whorl_cuda_instance(rotation_ntt_${form}_${bits} rotation/rotation_ntt_unrolled.cuh
                        "void launch_rotate_ntt_unrolled<BundleForm::${form}>(${key}, ${batch})")
  endforeach()
  whorl_cuda_instance(rotation_ntt_raised_${bits} rotation/rotation_ntt_walk.cuh
                      "void launch_rotate_ntt_raised(${walk}, ${batch})")
  foreach(limbs 1 2)
    foreach(steps digits automorphisms)
      whorl_cuda_instance(rotation_ntt_walk_${bits}_${limbs}_${steps} rotation/rotation_ntt_walk.cuh
                          "void launch_rotate_ntt_walk<${limbs}, WalkSteps::${steps}>(${walk}, ${batch})")
    endforeach()
  endforeach()
endforeach()

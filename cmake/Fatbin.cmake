# Device code without CMake's CUDA language: nvcc makes one fatbin of the sources, and the assembler puts its bytes into
# the target between peerlane_fatbin_begin and peerlane_fatbin_end. The target sees PEERLANE_HAVE_FATBIN.
#
#   peerlane_fatbin(TARGET SOURCE...)
#
# PEERLANE_NVCC        the compiler; found on PATH, under CUDA_PATH, or in /usr/local/cuda/bin
# PEERLANE_NVCC_FLAGS  more flags for it

set(PEERLANE_NVCC_FLAGS "" CACHE STRING "More flags for nvcc")

function(peerlane_find_nvcc)
  find_program(PEERLANE_NVCC nvcc PATHS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin
               DOC "NVIDIA's compiler, for the device code")
  if(NOT PEERLANE_NVCC)
    message(FATAL_ERROR
            "No nvcc on PATH, under CUDA_PATH or in /usr/local/cuda/bin. Run ./dev setup, which fetches it into build/, "
            "set PEERLANE_NVCC, or build without device code: cmake --preset no-cuda.")
  endif()
endfunction()

# NVIDIA's Python wheels of CUDA 12 keep each component's headers in a folder of its own, where nvcc does not look.
function(peerlane_nvcc_includes out)
  get_filename_component(nvcc "${PEERLANE_NVCC}" REALPATH)
  get_filename_component(bin "${nvcc}" DIRECTORY)
  get_filename_component(root "${bin}" DIRECTORY)
  set(flags)
  file(GLOB complete "${root}/include/cuda_runtime.h" "${root}/targets/*/include/cuda_runtime.h")
  if(NOT complete)
    file(GLOB folders "${root}/include" "${root}/../*/include")
    foreach(folder IN LISTS folders)
      list(APPEND flags "-I${folder}")
    endforeach()
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

# Machine code for every architecture that this nvcc knows from sm_75 on, PTX of the newest for those that come after,
# and PTX of the oldest for those in between that it does not know.
function(peerlane_nvcc_architectures out)
  execute_process(COMMAND "${PEERLANE_NVCC}" --list-gpu-code OUTPUT_VARIABLE listed ERROR_VARIABLE said RESULT_VARIABLE rc)
  string(REGEX MATCHALL "sm_[0-9]+" names "${listed}")
  list(TRANSFORM names REPLACE "sm_" "")
  list(FILTER names EXCLUDE REGEX "^([0-9]|[0-6][0-9]|7[0-4])$")
  list(REMOVE_DUPLICATES names)
  list(SORT names COMPARE NATURAL)
  if(NOT rc EQUAL 0 OR NOT names)
    message(FATAL_ERROR "${PEERLANE_NVCC} --list-gpu-code names no architecture from sm_75 on: ${listed}${said}")
  endif()
  set(flags)
  foreach(number IN LISTS names)
    list(APPEND flags -gencode "arch=compute_${number},code=sm_${number}")
  endforeach()
  list(GET names 0 oldest)
  list(GET names -1 newest)
  foreach(number ${oldest} ${newest})
    list(APPEND flags -gencode "arch=compute_${number},code=compute_${number}")
  endforeach()
  list(JOIN names " " printed)
  message(STATUS "Device code by ${PEERLANE_NVCC} for sm_ ${printed}")
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

function(peerlane_fatbin target)
  peerlane_find_nvcc()
  peerlane_nvcc_includes(nvcc_includes)
  peerlane_nvcc_architectures(architectures)
  separate_arguments(more_flags NATIVE_COMMAND "${PEERLANE_NVCC_FLAGS}")

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/fatbin/${target}")
  set(fatbin "${folder}/kernels.fatbin")
  set(all_sources "")
  set(inputs)
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    list(APPEND inputs "${path}")
    string(APPEND all_sources "#include \"${path}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/kernels.cu" CONTENT "${all_sources}" @ONLY)
  file(CONFIGURE OUTPUT "${folder}/kernels_fatbin.cpp" @ONLY CONTENT [[
// Generated: the fatbin's bytes as read-only data.
asm(R"(
  .pushsection .rodata
  .balign 64
  .globl peerlane_fatbin_begin
  .hidden peerlane_fatbin_begin
peerlane_fatbin_begin:
  .incbin "@fatbin@"
  .globl peerlane_fatbin_end
  .hidden peerlane_fatbin_end
peerlane_fatbin_end:
  .byte 0
  .popsection
)");
]])

  # The host compiler only preprocesses here, so any version of it will do.
  add_custom_command(
    OUTPUT "${fatbin}"
    COMMAND "${PEERLANE_NVCC}" -fatbin -std=c++20 -O3 --threads 0 -ccbin "${CMAKE_CXX_COMPILER}"
            -allow-unsupported-compiler ${architectures} "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src"
            ${nvcc_includes} ${more_flags} -MD -MF "${fatbin}.d" -MT "${fatbin}" -o "${fatbin}" "${folder}/kernels.cu"
    DEPENDS "${folder}/kernels.cu" ${inputs}
    DEPFILE "${fatbin}.d"
    COMMENT "Device code for ${target}"
    VERBATIM)
  set_source_files_properties("${folder}/kernels_fatbin.cpp" PROPERTIES OBJECT_DEPENDS "${fatbin}")
  target_sources(${target} PRIVATE "${folder}/kernels_fatbin.cpp")
  target_compile_definitions(${target} PRIVATE PEERLANE_HAVE_FATBIN=1)
endfunction()

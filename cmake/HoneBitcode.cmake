# The kernels that objects compiled ahead of time are linked with, as LLVM bitcode inside libhone-jit.so: clang 19
# compiles them for each instruction-set level, and for aarch64 where its headers are installed.
find_program(HONE_CLANG NAMES clang++-19 HINTS ${LLVM_TOOLS_BINARY_DIR})
set(BITCODE_DIR ${CMAKE_CURRENT_BINARY_DIR}/bitcode)
set(BITCODE_LEVELS "")
if(HONE_CLANG)
  set(BITCODE_LEVELS v2 v3 v4)
  if(EXISTS /usr/aarch64-linux-gnu/include/stdio.h)
    list(APPEND BITCODE_LEVELS neon)
  endif()
endif()
set(BITCODE_FILES "")
foreach(LEVEL IN LISTS BITCODE_LEVELS)
  set(FLAGS -march=x86-64-${LEVEL})
  if(LEVEL STREQUAL neon)
    set(FLAGS --target=aarch64-linux-gnu)
  endif()
  if(LEVEL MATCHES "v2|neon")
    list(APPEND FLAGS -DHONE_RUNTIME)
  endif()
  set(FILE ${BITCODE_DIR}/${LEVEL}.bc)
  add_custom_command(
    OUTPUT ${FILE}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${BITCODE_DIR}
    COMMAND ${HONE_CLANG} ${FLAGS} -std=c++20 -O2 -emit-llvm -c -ffreestanding -fno-exceptions -fno-rtti -ffp-contract=off
            -fno-math-errno -fPIC -fno-stack-protector -fno-threadsafe-statics -fno-asynchronous-unwind-tables -Wall -Werror
            -Wno-psabi -Wno-unknown-attributes -I${PROJECT_SOURCE_DIR} -MD -MF ${FILE}.d
            ${PROJECT_SOURCE_DIR}/hone/backend/jit/object/kernels.cpp -o ${FILE}
    DEPENDS ${PROJECT_SOURCE_DIR}/hone/backend/jit/object/kernels.cpp
    DEPFILE ${FILE}.d
    COMMENT "Bitcode of kernels for ${LEVEL}"
    VERBATIM)
  list(APPEND BITCODE_FILES ${FILE})
endforeach()
set_property(SOURCE backend/jit/object.cpp TARGET_DIRECTORY hone_backend_jit APPEND PROPERTY COMPILE_DEFINITIONS
             HONE_BITCODE_DIR="${BITCODE_DIR}" HONE_OBJECTS=$<BOOL:${HONE_CLANG}>
             HONE_OBJECTS_ARM64=$<IN_LIST:neon,${BITCODE_LEVELS}>)
set_property(SOURCE backend/jit/object.cpp TARGET_DIRECTORY hone_backend_jit APPEND PROPERTY OBJECT_DEPENDS "${BITCODE_FILES}")

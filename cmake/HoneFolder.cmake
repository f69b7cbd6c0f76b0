# One target a folder: hone_folder(NAME DEPENDS folders... LIBRARIES third-party...).
# Sources are the folder's *.cpp, unit tests its *_test.cpp (one binary). A folder links only what it may include.

add_library(hone_flags INTERFACE)
target_compile_features(hone_flags INTERFACE cxx_std_20)
target_compile_options(hone_flags INTERFACE -Wall -Wextra -Werror -Wno-psabi -ffp-contract=off -march=x86-64-v2
                       -fno-math-errno $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds>
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
target_include_directories(hone_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
  target_compile_options(hone_flags INTERFACE -fpch-preprocess)  # else ccache cannot serve what uses a precompiled header
endif()
if(HONE_SANITIZE)
  target_compile_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE})
endif()

set(HONE_STD_HEADERS <algorithm> <array> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string>
                     <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)
set_property(GLOBAL PROPERTY HONE_FOLDERS "")

function(hone_folder NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" TARGET hone_${NAME})
  set(DIR ${PROJECT_SOURCE_DIR}/hone/${NAME})
  file(GLOB SOURCES CONFIGURE_DEPENDS ${DIR}/*.cpp ${DIR}/*/*.cpp)
  set(TESTS ${SOURCES})
  list(FILTER SOURCES EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER TESTS INCLUDE REGEX "_test\\.cpp$")
  if(NOT SOURCES)
    set(KIND INTERFACE)
    add_library(${TARGET} INTERFACE)
  else()
    set(KIND PUBLIC)
    add_library(${TARGET} STATIC ${SOURCES})
    set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_precompile_headers(${TARGET} PRIVATE ${HONE_STD_HEADERS})
    target_link_libraries(${TARGET} PRIVATE $<BUILD_INTERFACE:hone_flags> ${ARG_LIBRARIES})
    set_property(GLOBAL APPEND PROPERTY HONE_FOLDERS ${TARGET})
  endif()
  set_property(GLOBAL APPEND PROPERTY HONE_LIBRARIES ${ARG_LIBRARIES})
  list(TRANSFORM ARG_DEPENDS REPLACE "/" "_")
  list(TRANSFORM ARG_DEPENDS PREPEND hone_)
  target_link_libraries(${TARGET} ${KIND} ${ARG_DEPENDS})
  if(HONE_TESTS AND TESTS)
    set_property(GLOBAL APPEND PROPERTY HONE_UNIT_TESTS ${NAME})
    set_property(GLOBAL PROPERTY HONE_UNIT_SOURCES_${NAME} ${TESTS})
  endif()
endfunction()

# hone_module(NAME OUTPUT name LIBRARIES third-party...): a folder that is loaded at run time: a library of its own, which
# shares only headers with the others. DEPENDS says whose; it is linked with none.
function(hone_module NAME)
  cmake_parse_arguments(ARG "" "OUTPUT" "DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" TARGET hone_${NAME})
  file(GLOB SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hone/${NAME}/*.cpp)
  add_library(${TARGET} MODULE ${SOURCES})
  target_link_libraries(${TARGET} PRIVATE hone_flags ${ARG_LIBRARIES})
  # It stays loaded to the end of the process, and a thread may be at work in it then: nothing of it is destroyed.
  target_link_options(${TARGET} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--wrap=__cxa_atexit)
  set_target_properties(${TARGET} PROPERTIES OUTPUT_NAME ${ARG_OUTPUT} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${HONE_MODULE_DIR})
endfunction()

# hone_test(NAME SOURCES files... [LABELS labels...]): one gtest binary, linked against the whole library.
function(hone_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  add_executable(${NAME}_test ${ARG_SOURCES})
  if(HONE_JIT)
    add_dependencies(${NAME}_test hone_backend_jit)  # which no test is linked with
  endif()
  target_link_libraries(${NAME}_test PRIVATE hone_all hone_flags hone_test_main ${ARG_LIBRARIES})
  target_precompile_headers(${NAME}_test REUSE_FROM hone_test_main)
  add_test(NAME ${NAME} COMMAND ${NAME}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${HONE_TEST_TIMEOUT})
  if(HONE_JIT)  # sanitizers load libraries themselves, past the RUNPATH of the test
    set_tests_properties(${NAME} PROPERTIES ENVIRONMENT HONE_JIT_LIBRARY=${HONE_MODULE_DIR}/libhone-jit.so)
  endif()
  foreach(LABEL IN LISTS ARG_LABELS)  # the target memory_tests builds what `ctest -L memory` runs
    if(NOT TARGET ${LABEL}_tests)
      add_custom_target(${LABEL}_tests)
    endif()
    add_dependencies(${LABEL}_tests ${NAME}_test)
  endforeach()
endfunction()

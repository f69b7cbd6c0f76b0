# The library as others use it: one target hone (Hone::hone) from the objects of all folders, and the installed,
# relocatable package: headers, HoneConfig.cmake, hone.pc, the tool. HONE_SHARED makes it a shared library that exports
# only Hone's own symbols.
include(CMakePackageConfigHelpers)
option(HONE_INSTALL "Install rules for library, headers and tool" ${PROJECT_IS_TOP_LEVEL})

get_property(FOLDERS GLOBAL PROPERTY HONE_FOLDERS)
get_property(LIBRARIES GLOBAL PROPERTY HONE_LIBRARIES)
list(REMOVE_DUPLICATES LIBRARIES)
set(OBJECTS $<TARGET_OBJECTS:hone_register>)
foreach(FOLDER IN LISTS FOLDERS)
  list(APPEND OBJECTS $<TARGET_OBJECTS:${FOLDER}>)
endforeach()

if(HONE_SHARED)
  add_library(hone SHARED ${OBJECTS})
  target_link_options(hone PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/hone.map -Wl,--no-undefined)
  set_target_properties(hone PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/hone.map)
else()
  add_library(hone STATIC ${OBJECTS})
endif()
add_library(Hone::hone ALIAS hone)
set_target_properties(hone PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME hone)
target_compile_features(hone INTERFACE cxx_std_20)
target_include_directories(hone INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(HONE_SANITIZE)
  target_link_options(hone PUBLIC -fsanitize=${HONE_SANITIZE})
endif()
foreach(LIBRARY IN LISTS LIBRARIES)
  if(LIBRARY MATCHES "nlohmann_json|CLI11|tomlplusplus")  # headers only: nothing to link for those who use Hone
    target_link_libraries(hone PRIVATE $<BUILD_INTERFACE:${LIBRARY}>)
  else()
    target_link_libraries(hone PRIVATE ${LIBRARY})
  endif()
endforeach()

# Headers that no user needs are not installed; hone/hone.h reaches all others (tests/package/umbrella_test.cpp).
set(HONE_INTERNAL_HEADERS
    "/hone/(backend|cli|ir|profile)$"
    "/hone/compiler/(archive|batch_axis|batch_rules|bisect|code_cache|codegen|control_kernels|difference|elf_object|executable|freeze|map_description|object|object_header|object_loader|object_tables|passes|pipeline|plan[a-z_]*|row_space|rule[a-z_]*|stablehlo[a-z_]*|works)\\.h$"
    "_test(_tools)?\\.h$"
    "/hone/register\\.h$"
    "/hone/base/(arena|denormals|file|hash|openmp|philox|probe|team|thread_local)\\.h$"
    "/hone/device/block_cache\\.h$"
    "/hone/formats/(bytes|inflate|json|zip)\\.h$"
    "/hone/function/(auto_jit|check_numerics|concrete|core_state|evaluate|flat_map|lowered_state|program_recorder|region_call|signature|trace)\\.h$"
    "/hone/math/(arm64|bits|box_copy|composites|(packed_)?contraction|convert|direct_convolution|erf|exp_log|functors|half|kernels|level|map_rows|nn[a-z_]*|object|plain_contraction)\\.h$"
    "/hone/math/(power|reduce[a-z_]*|(attention|channel|index|sort|window)_works|scalar|tile|transpose|trigonometry|vec|works?|x86)\\.h$"
    "/hone/nn/(registry|targets)\\.h$"
    "/hone/ops/(batch|box|control_types|region_vjp|combine|conv_geometry|conv_rules|dot_axes|family|frozen|gather_scatter|kernel|promote|reduce_steps|table|views|window_bound|window_walk)\\.h$"
    "/hone/optim/clipping\\.h$"
    "/hone/tensor/(donation|half)\\.h$"
    "/hone/train/(model_state|sequential|steps)\\.h$")
list(JOIN HONE_INTERNAL_HEADERS "\n" TEXT)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/internal_headers.txt CONTENT "${TEXT}\n")

if(NOT HONE_INSTALL)
  return()
endif()

install(TARGETS hone EXPORT HoneTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(HONE_JIT)
  install(TARGETS hone_backend_jit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET hone_tool)
  file(RELATIVE_PATH FROM_TOOL ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_property(TARGET hone_tool APPEND PROPERTY INSTALL_RPATH $ORIGIN/${FROM_TOOL})  # of what is loaded at run time
  install(TARGETS hone_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set(EXCLUDED "")
foreach(EXPRESSION IN LISTS HONE_INTERNAL_HEADERS)
  list(APPEND EXCLUDED REGEX ${EXPRESSION} EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" ${EXCLUDED})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Hone)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/HoneConfig.cmake.in ${PROJECT_BINARY_DIR}/HoneConfig.cmake
                              INSTALL_DESTINATION ${PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HoneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT HoneTargets NAMESPACE Hone:: DESTINATION ${PACKAGE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/HoneConfig.cmake ${PROJECT_BINARY_DIR}/HoneConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake DESTINATION ${PACKAGE_DIR})

# hone.pc: a static library must name what it needs itself.
file(RELATIVE_PATH PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(HONE_SHARED)
  set(PC_REQUIRES "")
  set(PC_LIBRARIES "")
else()
  set(PC_REQUIRES "fmt, zlib, spng, libxxhash")
  set(PC_LIBRARIES " -ldnnl -pthread")
  if(HONE_TEAM STREQUAL "openmp")
    string(APPEND PC_LIBRARIES " -fopenmp")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/hone.pc.in ${PROJECT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

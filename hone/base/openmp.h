// What Hone calls of libgomp. Its own omp.h is for g++ only, and a pragma of clang's would bring in a second runtime
// beside the one that oneDNN uses.
#pragma once

extern "C" {
/// Runs body(data) on a team of `threads`, as `#pragma omp parallel num_threads(threads)` of g++ does.
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_dynamic();
int omp_get_level();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_limit();
int omp_get_thread_num();
void omp_set_dynamic(int on);
void omp_set_num_threads(int count);
int omp_pause_resource_all(int kind);
}

/// A kind of omp_pause_resource_all, which keeps the values of threadprivate variables.
inline constexpr int kOmpPauseSoft = 1;

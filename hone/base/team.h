// The threads behind parallel.h; team_openmp.cpp or team_std.cpp implements it (CMake's HONE_TEAM). Internal to base.
#pragma once
#include "hone/base/function_ref.h"

namespace hone::team {

/// True where library calls share the team's threads; false: they run on one thread.
extern const bool kServesLibraries;

/// Runs member(i) once for each i in [0, members), concurrently, i = 0 on the calling or the owner thread. member must
/// not throw. One run at a time: concurrent callers wait their turn.
void run(int members, FunctionRef<void(int)> member);

/// Runs a library call that may open regions of its own with `members` threads, in turn with run(). May throw.
void run_call(int members, FunctionRef<void()> call);

/// Ends the team's threads; the next run starts new ones. Threads of a team that another caller owns stay.
void release();

/// The OpenMP settings of this thread for the time of a library call: `count` threads, not fewer.
class LibrarySettings {
 public:
  explicit LibrarySettings(int count);
  ~LibrarySettings();
  LibrarySettings(const LibrarySettings&) = delete;
  LibrarySettings& operator=(const LibrarySettings&) = delete;

 private:
  int previous_, count_;
  bool dynamic_;
};

}  // namespace hone::team

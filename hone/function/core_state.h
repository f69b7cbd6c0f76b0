// What function() keeps. Internal.
#pragma once
#include <deque>
#include <list>
#include <mutex>
#include <unordered_map>

#include "hone/function/concrete.h"
#include "hone/function/function.h"
#include "hone/function/signature.h"

namespace hone::function_detail {

struct Core::State {
  struct Recorded {
    Signature signature;  // symbolic where it was generalised
    std::shared_ptr<const Trace> trace;
    std::vector<ArgumentEnd> ends;
    std::vector<std::string> arguments;  // in words
    double milliseconds = 0;
  };
  struct Entry {
    Signature::Key key;
    std::shared_ptr<const Concrete> concrete;
  };

  FunctionOptions options;
  mutable std::mutex mutex;  // guards all below
  std::mutex run_mutex;      // calls that assign variables, one after the other
  std::vector<Recorded> traces;
  std::list<Entry> entries;  // by time of use, the latest first
  std::unordered_multimap<uint64_t, std::list<Entry>::iterator> index;
  int64_t count = 0;
  int64_t recorded_reasons = 0;  // since the last clear
  int64_t calls = 0;
  bool may_make_variables = true, no_retrace = false, symbolic_failed = false;
  std::deque<std::string> reasons;  // of the latest recordings

  std::shared_ptr<const Concrete> find(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body,
                                       const CallSite& site);
  std::shared_ptr<const Concrete> make(const Signature& signature, Body body, const CallSite& site);
  const Recorded* matching(const Signature& signature, Bindings& bindings) const;
  const Recorded& retrace(const Signature& signature, Body body, const CallSite& site);
  Recorded record_as(const Signature& signature, Body body, const CallSite& site, std::string reason);
  void remember(const Signature::Key& key, std::shared_ptr<const Concrete> concrete);
  void check_signature(const Signature& signature, Location location) const;

  std::string reason_for(const Signature& signature, const CallSite& site) const;
  SmallVector<char, 8> donated_leaves(const CallSite& site) const;
  void call(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body, const CallSite& site,
            Leaves& results, Statics& structure);
  void check_donated(std::span<const Tensor> leaves, const CallSite& site) const;
  void run_body(std::span<const Tensor> leaves, Body body, const CallSite& site, Leaves& results, Statics& structure);
};

/// "argument 1", or "argument 1, tensor 0" of a container, for each leaf.
std::vector<std::string> leaf_names(std::span<const ArgumentEnd> ends);

}  // namespace hone::function_detail

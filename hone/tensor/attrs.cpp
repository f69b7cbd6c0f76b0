#include "hone/tensor/attrs.h"

#include <fmt/format.h>

#include <algorithm>

#include "hone/base/hash.h"

namespace hone {
namespace {

struct Printer final : AttrVisitor {
  std::string text;
  template <class T>
  void add(const char* name, const T& value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  void field(const char* name, int64_t& value) override { add(name, value); }
  void field(const char* name, double& value) override { add(name, value); }
  void field(const char* name, bool& value) override { add(name, value); }
  void field(const char* name, DType& value) override { add(name, hone::name(value)); }
  void field(const char* name, Shape& value) override { add(name, to_string(value)); }
  void field(const char* name, Ints& value) override {
    add(name, fmt::format("[{}]", fmt::join(value.begin(), value.end(), ", ")));
  }
  void field(const char* name, std::string& value) override { add(name, "\"" + value + "\""); }
  void field(const char* name, Regions& value) override { add(name, fmt::format("{} region(s)", value.size())); }
};

// Fields as bytes: what equality and hashing see. NaN equals itself, -0 differs from 0.
struct Packer final : AttrVisitor {
  std::string bytes;
  void raw(const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); }
  template <class T>
  void add(const T& value) {
    raw(&value, sizeof value);
  }
  void field(const char*, int64_t& value) override { add(value); }
  void field(const char*, double& value) override { add(value); }
  void field(const char*, bool& value) override { add(value); }
  void field(const char*, DType& value) override { add(value); }
  void field(const char*, Shape& value) override {
    add(value.size());
    for (Dim d : value) add(d.key());
  }
  void field(const char*, Ints& value) override {
    add(value.size());
    for (int64_t v : value) add(v);
  }
  void field(const char*, std::string& value) override {
    add(value.size());
    bytes += value;
  }
  void field(const char*, Regions& value) override {
    add(value.size());
    for (const auto& region : value) add(region->fingerprint());
  }
};

struct RegionCollector final : AttrVisitor {
  Regions regions;
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, bool&) override {}
  void field(const char*, DType&) override {}
  void field(const char*, Shape&) override {}
  void field(const char*, Ints&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Regions& value) override { regions.insert(regions.end(), value.begin(), value.end()); }
};

template <class V>
V visited(AttrRef attrs) {
  V visitor;
  if (attrs.type()) attrs.type()->visit(const_cast<void*>(attrs.data()), visitor);
  return visitor;
}

}  // namespace

std::string to_string(AttrRef attrs) {
  const std::string text = visited<Printer>(attrs).text;
  return text.empty() ? text : "{" + text + "}";
}

Regions regions_of(AttrRef attrs) {
  if (!attrs.type() || attrs.type()->trivial) return {};
  return visited<RegionCollector>(attrs).regions;
}

bool equal(AttrRef a, AttrRef b) {
  if (a.type() != b.type()) return false;
  if (!a.type() || a.data() == b.data()) return true;
  if (visited<Packer>(a).bytes != visited<Packer>(b).bytes) return false;
  const Regions left = regions_of(a), right = regions_of(b);
  return std::ranges::equal(left, right, [](const auto& x, const auto& y) { return x->same(*y); });
}

uint64_t hash(AttrRef attrs) { return hash_of(visited<Packer>(attrs).bytes); }

}  // namespace hone

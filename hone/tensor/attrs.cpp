#include "hone/tensor/attrs.h"

#include <fmt/format.h>

#include <functional>

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

bool equal(AttrRef a, AttrRef b) {
  return a.type() == b.type() && visited<Packer>(a).bytes == visited<Packer>(b).bytes;
}

uint64_t hash(AttrRef attrs) { return std::hash<std::string>()(visited<Packer>(attrs).bytes); }

}  // namespace hone

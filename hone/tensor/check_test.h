// What tests say of tensors and errors.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "hone/base/error.h"
#include "hone/tensor/tensor.h"

namespace hone {

using Floats = std::vector<float>;
inline Floats floats(const Tensor& x) { return x.to_vector<float>(); }
inline Tensor vec(std::initializer_list<float> values) { return Tensor::of<float>(values); }

/// Message of the error that f() must throw, of this code.
template <class F>
std::string message(Code code, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}
inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace hone

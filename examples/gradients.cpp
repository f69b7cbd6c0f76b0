// Derivatives of functions, and the views of a tensor.
#include <hone/hone.h>

#include <iostream>
using namespace hone;

int main() {
  const Tensor x = Tensor::of<float>({-1, 0.5, 2}), w = Tensor::of<float>({1, 2, 3}),
               b = Tensor::of<float>({0.1, 0.2, 0.3});
  const auto f = [](Tensor v) { return sum(v * v * v); };
  const auto f2 = [&x](Tensor weight, Tensor bias) { return sum(sigmoid(x * weight + bias)); };

  Tensor g = grad([](Tensor v) { return sum(tanh(v)); })(x);
  std::cout << "gradient of sum(tanh(x))\n" << g << "\n";

  auto [y, dy] = value_and_grad(f)(x);
  std::cout << "sum(x^3) = " << y.item<float>() << ", its gradient 3 x^2\n" << dy << "\n";

  Tensor h = grad([&](Tensor v) { return sum(grad(f)(v)); })(x);  // second order
  std::cout << "second derivative 6 x\n" << h << "\n";

  auto [dw, db] = grad(f2, argnums<0, 1>)(w, b);
  std::cout << "gradients with respect to two arguments\n" << dw << "\n" << db << "\n";

  // Two examples at once: the rows of one argument, the columns of the other; then a gradient for each.
  const Tensor rows = stack({w, b}), columns = stack({b, w}, 1);
  Tensor z = vmap(f2, {.in_axes = {0, 1}})(rows, columns);
  std::cout << "f2 of each row and column\n" << z << "\n" << vmap(grad(f2), {.in_axes = {0, 1}})(rows, columns) << "\n";

  const Tensor m = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  Tensor part = m[{0, slice(1, -1), ellipsis}], kept = m[m > 3];
  std::cout << "m[0, 1:-1, ...] and m[m > 3]\n" << part << "\n" << kept << "\n";
}

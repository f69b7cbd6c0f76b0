// Branches and loops on values: written once, they run step by step, traced, differentiated and under vmap.
#include <hone/hone.h>

#include <iostream>
using namespace hone;

int main() {
  const Tensor x = Tensor::of<float>({0.5, -1, 2}), w = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});

  auto [last, all] = scan([](Tensor c, Tensor v) { return std::pair{c + v, c}; }, x, w);
  std::cout << "running sums of the rows of w from x\n" << last << "\n" << all << "\n";

  Tensor y2 = cond(sum(x) > 0, [](Tensor v) { return v + 1; }, [](Tensor v) { return v - 1; }, x);
  std::cout << "x + 1, since its sum is positive\n" << y2 << "\n";

  // The same in a graph: the loop is one call, whatever its length, and has a gradient.
  const auto decay = [](Tensor v) {
    return sum(fori_loop(0, 10, [](Tensor, Tensor c) { return c * 0.5 + tanh(c); }, v));
  };
  std::cout << "gradient through ten steps\n" << function([&](Tensor v) { return grad(decay)(v); })(x) << "\n";

  // Carries of two dtypes: how many halvings until x < 1. A loop over scalars is one function of machine code.
  const auto halvings = function(
      [](Tensor v) {
        return while_loop([](const auto& c) { return c.first >= 1.0F; },
                          [](const auto& c) { return std::pair{c.first * 0.5F, c.second + 1}; },
                          std::pair{v, Tensor(0)});
      },
      {.jit_compile = true});
  auto [rest, count] = halvings(Tensor(100.0F));
  std::cout << "100 halved " << count << " times is " << rest << "\n";

  // Newton's method for the square root of each example; those that are done wait for the others.
  const auto root = [](Tensor a) {
    return while_loop([a](Tensor r) { return abs(r * r - a) > 1e-5; }, [a](Tensor r) { return (r + a / r) / 2; }, a);
  };
  std::cout << "square roots\n" << vmap(root)(Tensor::of<float>({1, 2, 9, 400})) << "\n";
}

// Layers: shared handles over modules. A module owns variables and children and maps tensors to tensors.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hone/base/config.h"
#include "hone/function/variable.h"
#include "hone/nn/initializer.h"

namespace hone::nn {

class Layer;

struct CallOptions {
  bool training = false;  ///< batch statistics, dropout
  Tensor mask{};          ///< bool, true = valid; layers that know masks use it
};

struct VariableSpec {
  Shape shape;
  Initializer initializer = GlorotUniform();
  DType dtype = f32;
  bool trainable = true;
};

/// Base of every layer, the library's and one's own: members are made with child() and variable(), call() computes.
/// Not copyable; held by Layer. One thread may change it at a time, any number may call it without training.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// Makes the variables, once, when the first input's shape is known.
  virtual void build(std::span<const TensorType> inputs);
  /// The result for one input.
  virtual Tensor call(const Tensor& x, const CallOptions& options);
  /// Several inputs; the default passes the only one to call(x). Error kInvalidArgument for more.
  virtual Tensor call(std::span<const Tensor> inputs, const CallOptions& options);
  /// Puts state that calls keep for the next one back to what it was at first.
  virtual void reset_states() {}
  /// The one batch size that call takes, because it keeps state of each example; 0: any.
  virtual int64_t batch_size() const { return 0; }
  /// What from_config() needs to make the layer again: {"type": ..., options...}. Modules of one's own give only their
  /// type and name.
  virtual Config config() const;
  /// The type's name in configs and summaries.
  virtual std::string type() const { return "Module"; }

  /// Registers a member layer under a name and returns it.
  template <class L>
  L child(std::string name, L layer) {
    add_child(std::move(name), layer);
    return layer;
  }
  /// Makes a variable of this module.
  Variable variable(std::string name, VariableSpec spec);

  const std::vector<std::pair<std::string, Layer>>& children() const { return children_; }
  const std::vector<Variable>& own_variables() const { return variables_; }
  bool built() const { return built_; }
  bool trainable() const { return trainable_; }

 private:
  friend class Layer;
  void add_child(std::string name, const Layer& layer);
  /// Made with trainable = false: moving statistics, random state.
  bool is_state(const Variable& variable) const;
  std::vector<const void*> state_;
  std::vector<std::pair<std::string, Layer>> children_;
  std::vector<Variable> variables_;
  std::string name_;
  bool trainable_ = true;
  bool built_ = false;
};

/// A shared handle: copies are the same layer. Calling it builds it on the first input.
class Layer {
 public:
  Layer() = default;
  explicit Layer(std::shared_ptr<Module> impl);
  bool defined() const { return static_cast<bool>(impl_); }

  Tensor operator()(const Tensor& x, const CallOptions& options = {}, Location location = Location::current()) const;
  Tensor operator()(std::initializer_list<Tensor> inputs, const CallOptions& options = {},
                    Location location = Location::current()) const;
  Tensor call(std::span<const Tensor> inputs, const CallOptions& options, Location location) const;

  /// Variables of the layer and its children in the order of their making; names are paths: "block/conv/kernel".
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  std::vector<Variable> non_trainable_variables() const;
  /// Path and variable, the key under which bundles store it.
  std::vector<std::pair<std::string, Variable>> named_variables() const;
  int64_t parameters() const;

  const std::string& name() const { return impl_->name_; }
  void set_name(std::string name) const { impl_->name_ = std::move(name); }
  bool trainable() const { return impl_->trainable_; }
  /// Freezes or releases the layer and all its children. A frozen batch norm runs in inference mode.
  void set_trainable(bool trainable) const;
  bool built() const { return impl_->built_; }
  /// Module::reset_states of the layer and all its children.
  void reset_states() const;
  /// The one batch size that the layer and all its children take; 0: any.
  int64_t batch_size() const;
  void build(std::initializer_list<TensorType> inputs) const { build(std::span(inputs.begin(), inputs.size())); }
  void build(std::span<const TensorType> inputs) const;
  Config config() const { return impl_->config(); }
  Module& module() const { return *impl_; }
  std::shared_ptr<Module> impl() const { return impl_; }

 protected:
  std::shared_ptr<Module> impl_;
};

/// A layer of one's own module type.
template <class M, class... Args>
Layer make(Args&&... args) {
  return Layer(std::make_shared<M>(std::forward<Args>(args)...));
}

/// The layer that a config describes ({"type": "Dense", "units": 10}); each may have a "name" and
/// "trainable". Error kInvalidArgument for unknown types and
/// keys, with the nearest name; `where` leads the key's path in messages.
Layer layer_from_config(const Config& config, std::string_view where = "layer");
/// Makes a type of one's own known to layer_from_config (and so to bundles).
void register_layer(std::string type, std::function<Layer(const Config&)> from_config);

}  // namespace hone::nn

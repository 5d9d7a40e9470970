// Arrays of FHEW/TFHE's ciphertexts as the library will have them, over batches on the host. BGV's
// servers, of which one call runs at a time. Devices and failures of BGV's.
#pragma once

#include <memory>
#include <mutex>

#include "batches.h"
#include "whorl/bgv/server.h"
#include "whorl/binfhe/server.h"

namespace whorl::python {

inline std::mutex bgv_mutex;
template <>
struct Turn<bgv::Server> {
  std::lock_guard<std::mutex> lock{bgv_mutex};
};

namespace interim {

class Array {
 public:
  explicit Array(binfhe::Ciphertexts batch)
      : batch_(std::make_shared<const binfhe::Ciphertexts>(std::move(batch))) {}
  const binfhe::Ciphertexts& host() const { return *batch_; }
  binfhe::Encoding encoding() const { return batch_->encoding; }
  std::size_t count() const { return batch_->count; }
  std::size_t bytes() const { return batch_->data.size() * 4; }

 private:
  std::shared_ptr<const binfhe::Ciphertexts> batch_;
};

class Server {
 public:
  Server(const binfhe::EvaluationKeys& keys, binfhe::ServerOptions options)
      : server_(keys, std::move(options)) {}

  const binfhe::Parameters& parameters() const { return server_.parameters(); }
  const KeyId& key_id() const { return server_.key_id(); }
  const std::string& device() const { return server_.device(); }
  const std::vector<std::string>& devices() const { return server_.devices(); }
  std::vector<binfhe::FailedDevice> failed_devices() const { return server_.failed_devices(); }
  binfhe::Transform transform() const { return server_.transform(); }
  binfhe::RotationSchedule rotation() const { return server_.rotation(); }
  unsigned threads() const { return server_.threads(); }
  std::size_t key_bytes() const { return server_.key_bytes(); }

  Array upload(const binfhe::Ciphertexts& batch) const {
    if (batch.parameters != parameters()) throw ParameterMismatchError("parameters: others");
    if (batch.key_id != key_id()) throw KeyMismatchError("key_id: another");
    return Array(batch);
  }
  binfhe::Ciphertexts download(const Array& a) const { return a.host(); }
  Array gate(binfhe::Gate gate, std::span<const Array* const> inputs,
             std::optional<binfhe::Encoding> output) const {
    const Batches batches(inputs);
    return Array(server_.gate(gate, batches.pointers, output));
  }
  Array not_(const Array& a) const { return Array(server_.not_(a.host())); }
  Array mux(const Array& select, const Array& a, const Array& b) const {
    const Array* arrays[] = {&select, &a, &b};
    const Batches batches(arrays);
    const auto& held = batches.pointers;
    return Array(server_.mux(*held[0], *held[1], *held[2]));
  }
  Array bootstrap(const Array& a, std::optional<binfhe::Encoding> output) const {
    return Array(server_.bootstrap(a.host(), output));
  }
  Array apply(std::span<const binfhe::Lut> luts, std::span<const std::uint32_t> index,
              const Array& a) const {
    return Array(server_.apply(luts, index, a.host()));
  }
  Array linear(std::span<const std::int32_t> weights, std::span<const Array* const> inputs,
               std::int32_t constant) const {
    const Batches batches(inputs);
    return Array(server_.linear(weights, batches.pointers, constant));
  }
  Array trivial_array(std::span<const std::uint32_t> messages, binfhe::Encoding encoding) const {
    return Array(server_.trivial(messages, encoding));
  }
  Array take(const Array& a, std::span<const std::uint32_t> index) const {
    return Array(taken(a.host(), index));
  }
  Array concatenate(std::span<const Array> arrays) const {
    binfhe::Ciphertexts out = arrays.front().host();
    out.seed.reset();
    for (const Array& array : arrays.subspan(1)) {
      if (array.encoding() != out.encoding) throw EncodingError("p, padding: others");
      const auto& data = array.host().data;
      out.data.insert(out.data.end(), data.begin(), data.end());
      out.count += array.count();
    }
    return Array(std::move(out));
  }

 private:
  static binfhe::Ciphertexts taken(const binfhe::Ciphertexts& c,
                                   std::span<const std::uint32_t> index) {
    return {c.parameters,
            c.key_id,
            c.encoding,
            index.size(),
            take_rows<std::uint32_t>(c.data, {1, c.row()}, c.count, index),
            std::nullopt};
  }
  /// All of as many ciphertexts as the largest.
  struct Batches {
    explicit Batches(std::span<const Array* const> inputs) {
      std::size_t count = 1;
      for (const Array* input : inputs)
        if (input->count() != 1) count = input->count();
      copies.reserve(inputs.size());
      for (const Array* input : inputs) {
        if (input->count() != count) {
          copies.push_back(taken(input->host(), std::vector<std::uint32_t>(count, 0)));
          pointers.push_back(&copies.back());
        } else {
          pointers.push_back(&input->host());
        }
      }
    }
    std::vector<binfhe::Ciphertexts> copies;
    std::vector<const binfhe::Ciphertexts*> pointers;
  };

  binfhe::Server server_;
};

}  // namespace interim
}  // namespace whorl::python

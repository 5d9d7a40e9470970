// Bytes that a server holds, and what operations need on their way.
#include <utility>

#include "bgv/bgv.h"
#include "whorl/io.h"

namespace whorl::bench {

using namespace bgv;

void measure_memory(const BgvOptions& options, const Configuration& configuration,
                    const BgvRecords& records) {
  const Parameters parameters = choose(configuration);
  const Client client(parameters);
  KeyRequest request;
  for (std::int64_t columns = 1; columns <= 16; ++columns) request.rotations.push_back(columns);
  const EvaluationKeys keys = client.evaluation_keys(request, options.threads);
  const std::vector<std::int64_t> row(parameters.N(), 1);
  const Ciphertexts x = client.encrypt(row);

  const auto warm = open_queue(options.device, options.threads);
  const std::size_t before = free_memory(options.device);
  const Server server(keys, options.server());
  std::vector<Array> held{server.upload(x), server.upload(x)};
  held.push_back(server.multiply(held[0], held[1]));
  for (Array& turned : server.rotate_many(held[0], request.rotations))
    held.push_back(std::move(turned));
  server.synchronise();
  const std::size_t after = free_memory(options.device);

  std::size_t working_set = 0;
  for (const Array& array : held) working_set += array.bytes();
  const bool measured = options.device != "cpu" && before > after;
  const std::size_t taken = measured ? before - after : server.key_bytes() + working_set;
  Record record{.op = "memory", .unit = "bytes"};
  record.more = {{"keys", std::uint64_t{keys.keys.size()}},
                 {"key_bytes", std::uint64_t{server.key_bytes()}},
                 {"working_set", std::uint64_t{working_set}},
                 {"file_bytes", std::uint64_t{io::dump(keys).size()}}};
  if (measured) {
    record.more.emplace_back("free_before", std::uint64_t{before});
    record.more.emplace_back("free_after", std::uint64_t{after});
  }
  records.add(parameters, record, Times({static_cast<double>(taken)}));
}

}  // namespace whorl::bench

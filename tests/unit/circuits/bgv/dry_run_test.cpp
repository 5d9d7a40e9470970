// What a dry run says before there is a key is what a server says of ciphertexts.
#include "support/bgv_sets.h"
#include "support/counting_rns.h"
#include "support/test.h"
#include "whorl/bgv.h"
#include "whorl/circuits/bgv/slots.h"

namespace whorl::bgv {
namespace {

using Values = std::vector<std::int64_t>;
using Circuit = std::function<Array(const Server&, const Array&)>;

Values random_values(std::size_t count) {
  test::Random random;
  Values out(count);
  for (auto& v : out) v = random.between(1, 65536);
  return out;
}

Array two(const Server& s, const Array& x) {
  const std::vector<std::uint32_t> indices{2, 0};
  return s.take(x, indices);
}

/// On vectors of eight values each, a batch of three, without plaintexts in slots.
const std::map<std::string, Circuit>& exact_circuits() {
  static const std::map<std::string, Circuit> all{
      {"product", [](const Server& s, const Array& x) { return s.multiply(x, s.rotate(x, 3)); }},
      {"bare products",
       [](const Server& s, const Array& x) {
         return s.relinearise(s.multiply(x, s.square(x, false), false));
       }},
      {"rows",
       [](const Server& s, const Array& x) { return s.sub(s.swap_rows(x), s.inner_sum(x, 16)); }},
      {"several rotations",
       [](const Server& s, const Array& x) {
         const Values columns{1, -2, 0};
         return s.add(s.rotate_many(x, columns)[1], s.relinearise(s.square(x, false)));
       }},
      {"sums", [](const Server& s, const Array& x) { return s.multiply(sum(s, x), x); }},
      {"dot product", [](const Server& s, const Array& x) { return dot(s, x, s.negate(x)); }},
      {"dot product with itself", [](const Server& s, const Array& x) { return dot(s, x, x); }},
      {"integers",
       [](const Server& s, const Array& x) {
         return s.multiply_scalar(s.add_scalar(s.rotate(s.negate(x), 1), 5), -3);
       }},
      {"levels and factors",
       [](const Server& s, const Array& x) {
         return s.shrink(s.add(s.mod_switch(s.square(x), 3), s.mod_switch(x, 4)));
       }},
      {"members",
       [](const Server& s, const Array& x) {
         return s.concatenate(std::vector{two(s, x), s.square(x)});
       }},
  };
  return all;
}

/// The same with plaintexts, of which a dry run takes the worst.
const std::map<std::string, Circuit>& bounded_circuits() {
  static const std::map<std::string, Circuit> all{
      {"plaintexts",
       [](const Server& s, const Array& x) {
         const Values m = random_values(8);
         const Plaintexts table = s.encode(random_values(24), Packing::slots, 8);
         return s.add_plain(s.sub_plain(s.multiply_plain(s.square(x), table), m), table);
       }},
      {"an integer and zeros", [](const Server& s, const Array& x) { return s.add_scalar(x, 7); }},
      {"what operations leave behind",
       [](const Server& s, const Array& x) { return s.rotate(s.add(sum(s, x), x), 1); }},
      {"matrix",
       [](const Server& s, const Array& x) {
         return multiply(s, x, encode_matrix(s, random_values(8 * 5), 8, 5));
       }},
      {"large matrix",
       [](const Server& s, const Array& x) {
         return multiply(s, s.square(x, false), encode_matrix(s, random_values(8 * 700), 8, 700));
       }},
      {"diagonals",
       [](const Server& s, const Array& x) {
         const std::size_t N = s.parameters().N();
         const SlotMap maps = encode_diagonals(s, random_values(2 * 7 * N), 7, 2);
         const std::vector<Array> both = multiply_maps(s, s.rotate(x, 1), maps);
         return s.add(both[0], both[1]);
       }},
  };
  return all;
}

/// Some operations that follow from a seed, each on what earlier ones left.
Circuit random_circuit(std::uint64_t seed) {
  return [seed](const Server& s, const Array& x) {
    test::Random random(seed);
    std::vector<Array> all{x};
    const auto any = [&] { return all[random.below(all.size())]; };
    for (int step = 0; step < 12; ++step) {
      const Array a = s.relinearise(any());
      switch (random.below(7)) {
        case 0:
          all.push_back(s.add(a, any()));
          break;
        case 1:
          all.push_back(s.sub(any(), a));
          break;
        case 2:
          all.push_back(s.multiply(a, s.relinearise(any()), step % 2 == 0));
          break;
        case 3:
          all.push_back(s.rotate(a, random.between(-9, 9)));
          break;
        case 4:
          all.push_back(s.swap_rows(a));
          break;
        case 5:
          all.push_back(s.multiply_scalar(a, random.between(-99, 99)));
          break;
        default:
          all.push_back(s.mod_switch(a, std::max(1u, a.info().limbs - 1)));
      }
    }
    return s.relinearise(all.back());
  };
}

const Parameters& toy() {
  static const Parameters p = test::bgv_insecure({1024, 65537, 30, 8, 3});
  return p;
}

/// Runs with the keys that were asked for, and with none of them less.
void check(const std::string& what, const Circuit& circuit, bool exact, bool less) {
  SCOPED_TRACE(what);
  const DryRun dry(toy());
  const Array planned = circuit(dry.server(), dry.fresh(Packing::slots, 24, 8));
  const KeyRequest request = dry.asked();
  const RingCosts costs = dry.costs();

  const auto counts = test::name_counting_device();
  const Client client(toy());
  const auto run = [&](const KeyRequest& keys) {
    const Server server(client.evaluation_keys(keys), {.device = test::named_devices});
    return circuit(
        server, server.upload(encrypt(client.public_key(), random_values(24), Packing::slots, 8)));
  };
  const Array real = run(request);
  EXPECT_EQ(costs.products, counts->products.load());
  EXPECT_EQ(costs.key_switches, counts->key_switches.load());
  EXPECT_EQ(costs.keys, key_count(toy(), request));
  EXPECT_EQ(costs.key_bytes, client.evaluation_keys(request).bytes());

  const CiphertextInfo &a = planned.info(), &b = real.info();
  EXPECT_EQ(a.packing, b.packing);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.limbs, b.limbs);
  EXPECT_EQ(a.factor, b.factor);
  EXPECT_EQ(a.length, b.length);
  EXPECT_EQ(a.rest, b.rest);
  EXPECT_EQ(planned.bytes(), real.bytes());
  if (exact)
    EXPECT_EQ(a.noise, b.noise);
  else
    EXPECT_GE(a.noise, b.noise);

  if (!less) return;
  for (unsigned parts = 2; parts < request.relinearise; ++parts) {
    KeyRequest fewer = request;
    fewer.relinearise = parts;
    EXPECT_THROW(run(fewer), MissingKeyError) << parts << " parts";
  }
  for (const std::int64_t columns : request.rotations) {
    KeyRequest fewer = request;
    std::erase(fewer.rotations, columns);
    EXPECT_THROW(run(fewer), MissingKeyError) << "without " << columns;
  }
  if (request.swap_rows) {
    KeyRequest fewer = request;
    fewer.swap_rows = false;
    EXPECT_THROW(run(fewer), MissingKeyError) << "without the exchange of rows";
  }
}

TEST(BgvDryRun, SaysWhatAServerSays) {
  for (const auto& [what, circuit] : exact_circuits()) check(what, circuit, true, true);
}

TEST(BgvDryRun, BoundsWhatAServerSaysOfPlaintexts) {
  for (const auto& [what, circuit] : bounded_circuits()) check(what, circuit, false, true);
}

TEST(BgvDryRun, SaysWhatAServerSaysOfRandomCircuits) {
  test::Random random;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t seed = random.below(1u << 30);
    check("seed " + std::to_string(seed), random_circuit(seed), true, false);
  }
}

TEST(BgvDryRun, CountsSequences) {
  const DryRun dry(toy());
  const Server& s = dry.server();
  const Array x = dry.fresh(Packing::slots, 8, 8);
  const Array y = s.multiply(s.square(x), s.multiply_plain(x, random_values(8)));
  static_cast<void>(s.add(s.add(y, y), s.multiply_scalar(s.mod_switch(s.square(y), 2), -6)));
  const RingCosts costs = dry.costs();
  EXPECT_EQ(costs.products, 3u);
  EXPECT_EQ(costs.relinearisations, 3u);
  EXPECT_EQ(costs.plain_products, 1u);
  EXPECT_EQ(costs.key_switches, 3u);
  EXPECT_EQ(costs.rotations + costs.bootstraps, 0u);
  EXPECT_EQ(costs.depth, 3u);
  EXPECT_EQ(costs.plain_depth, 1u);
  EXPECT_NEAR(costs.sums, 3, 1e-12);  // 2 + 6 ciphertexts
}

TEST(BgvDryRun, AsksForRotationsAsTheyAreMeant) {
  const DryRun dry(toy());
  const Array x = dry.fresh(Packing::slots, 8, 8);
  for (const std::int64_t columns : {-1, 511, 512, 5, -507, 256, -256})
    static_cast<void>(dry.server().rotate(x, columns));
  EXPECT_EQ(dry.asked().rotations, (Values{5, 256, -1}));
  EXPECT_EQ(dry.asked().relinearise, 2u);
  EXPECT_FALSE(dry.asked().swap_rows);
}

TEST(BgvDryRun, RefusesWhatAServerRefuses) {
  const std::map<std::string, Circuit> refused{
      {"a dot product of another length",
       [](const Server& s, const Array& x) { return dot(s, x, s.encode(random_values(3))); }},
      {"a sum of no power of two",
       [](const Server& s, const Array& x) { return s.inner_sum(x, 3); }},
      {"batches of other sizes",
       [](const Server& s, const Array& x) { return s.add(x, two(s, x)); }},
      {"a level that is not there",
       [](const Server& s, const Array& x) { return s.mod_switch(x, 9); }},
      {"another packing",
       [](const Server& s, const Array& x) {
         return s.add_plain(x, s.encode(random_values(3), Packing::coefficients));
       }},
      {"a matrix of other rows",
       [](const Server& s, const Array& x) {
         return multiply(s, x, encode_matrix(s, random_values(6), 3, 2));
       }},
  };
  const Client client(toy());
  const Server server(client.evaluation_keys(KeyRequest{}), {.device = test::tested_device});
  const DryRun dry(toy());
  for (const auto& [what, circuit] : refused) {
    const auto said = [&](const Server& s, const Array& x) {
      return test::refusal_of([&] { static_cast<void>(circuit(s, x)); });
    };
    const std::string real =
        said(server, server.upload(client.encrypt(random_values(24), Packing::slots, 8)));
    EXPECT_NE(real, "nothing") << what;
    EXPECT_EQ(said(dry.server(), dry.fresh(Packing::slots, 24, 8)), real) << what;
  }
}

TEST(BgvDryRun, HasNoCiphertexts) {
  const DryRun dry(toy());
  const Array x = dry.fresh(Packing::coefficients, 2 * toy().N());
  EXPECT_THROW(static_cast<void>(dry.server().download(x)), DeviceError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::coefficients, 2048, 2048)), ShapeError);
  EXPECT_THROW(static_cast<void>(dry.fresh(Packing::slots, 0)), ShapeError);
  const Parameters without = test::bgv_insecure({1024, 4, 28, 5, 2});
  EXPECT_THROW(static_cast<void>(DryRun(without).fresh(Packing::slots, 1)), EncodingError);
  const DryRun other(toy());
  EXPECT_THROW(static_cast<void>(other.server().negate(x)), DeviceError);
  EXPECT_LT(dry.fresh(Packing::slots, 8, 8, true).info().noise,
            dry.fresh(Packing::slots, 8, 8).info().noise);
}

}  // namespace
}  // namespace whorl::bgv

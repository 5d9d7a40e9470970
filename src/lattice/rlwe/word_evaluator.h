// The evaluator for one size of words. An operation works piece by piece, on the device where that
// piece of its result will lie; operands that are not there yet are copied there first.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/block_cache.h"
#include "backend/contract/ring.h"
#include "backend/contract/rns.h"
#include "lattice/rlwe/evaluator.h"
#include "lattice/rlwe/keys.h"
#include "math/process.h"
#include "ring/fft_plan.h"
#include "ring/rns_plan.h"
#include "run/stored.h"
#include "whorl/error.h"

namespace whorl::lattice::rlwe {

template <class Word>
class WordEvaluator final : public Evaluator {
 public:
  WordEvaluator(std::shared_ptr<const run::Fleet> fleet,
                std::shared_ptr<const ring::RnsPlan<Word>> plan, std::size_t key_bytes,
                const std::optional<Owner>& owner);

#include "lattice/rlwe/overrides.inc"

 private:
  using Plan = ring::RnsPlan<Word>;
  using Tables = backend::RnsTables<Word>;
  using PreparedKey = backend::RnsSwitchKey<Word>;
  using Buffer = backend::Buffer<Word>;
  using Slice = backend::Slice<Word>;
  using ConstSlice = backend::Slice<const Word>;
  using Pieces = std::vector<run::Piece>;

  using Stored = run::Stored<Word>;

  /// The buffers of an array, one for each piece: (parts, basis, count of the piece, N).
  struct Residues final : Storage {
    using Storage::Storage;
    std::vector<Stored> buffers;
    std::shared_ptr<const void> source;  ///< holds the words that `buffers` remember
  };
  using Held = std::shared_ptr<const Residues>;

  /// The place where a piece is worked on, under the lane's hold.
  struct Site {
    std::size_t piece;
    const run::Lane& lane;
    const backend::Queue& queue;
    const Tables& tables;
    std::size_t count;  ///< ciphertexts of the piece
    std::size_t N;

    const backend::RingOps<Word>& ring() const { return queue.ring<Word>(); }
    const backend::RnsOps<Word>& rns() const { return queue.rns<Word>(); }
    Buffer polynomials(std::size_t rows) const { return queue.allocate<Word>(rows * count * N); }
  };
  /// An operand there: of the piece's count, or a single.
  struct View {
    const Shape& shape;
    std::size_t count, N;  ///< N: words of a polynomial
    ConstSlice all;
    Buffer keep = {};

    ConstSlice rows(std::size_t first, std::size_t number) const {
      return all.part(first * count * N, number * count * N);
    }
    ConstSlice parts(unsigned first, unsigned number) const {
      return rows(std::size_t{first} * shape.basis.size(),
                  std::size_t{number} * shape.basis.size());
    }
  };

  // ---- pieces-inl.h

  void upload_rows(const Site& site, std::span<const Word> from, std::size_t begin, Slice to) const;
  /// The array whose pieces body(site, first item) makes from what the host has: `words` as they
  /// are, if there are any.
  template <class Body>
  Array placed(const Shape& shape, const WordArray* words, const Body& body) const;
  /// The same place in the ring of n coefficients, for polynomials in X^(N/n) (RnsPlan::in_ring).
  Site in_ring(const Site& site, std::uint32_t n) const;
  /// interpolate() of values (any number, period), in the ring of the site.
  Buffer interpolated_on(const Site& site, const ring::Basis& basis, double scale,
                         std::size_t period, std::span<const std::complex<double>> values) const;
  /// round() of polynomials (any number, n), in evaluation form in the ring of the site.
  Buffer rounded_on(const Site& site, const ring::Basis& basis, double scale, std::size_t n,
                    std::size_t step, backend::Slice<const double> polynomials) const;
  /// The first of each `repeats` values, which are equal.
  Buffer by_period(const Site& site, Buffer values, std::size_t repeats) const;
  /// The dimension of the ring in which values are computed that repeat so often.
  std::uint32_t dimension(unsigned log_repeats) const;
  /// Returns the plan of degree N, which is made once.
  const ring::FftPlan& fft_plan(std::uint32_t N) const;
  /// On several devices, an uploaded array holds its words: they outlive a device.
  void remember(const WordArray& words, Residues& made) const;
  Site site(std::size_t piece, const run::Piece& at) const {
    const run::Lane& lane = *fleet().lane(at.lane);
    return {piece, lane, lane.queue(), *tables_[at.lane], at.range.count, plan_->N()};
  }
  template <class F>
  auto in_pieces(std::size_t count, const F& f) const {
    return fleet().in_pieces(count, most_, f);
  }
  /// The same in pieces of at most `most`.
  template <class F>
  auto in_pieces(std::size_t count, std::size_t most, const F& f) const {
    return fleet().in_pieces(count, most, f);
  }
  /// An array that has room for a buffer of each piece, and none yet.
  std::shared_ptr<Residues> draft(const Shape& shape, Pieces pieces) const;
  static Held held(const Array& a) {
    return std::static_pointer_cast<const Residues>(storage_of(a));
  }
  /// The same array cut as `pieces` are, or a single on their lanes.
  Held aligned(const Array& a, const Pieces& pieces, std::size_t count) const;
  View view(const Residues& operand, const Site& site) const;
  /// Where piece `piece` of an array can be had: there, on the host, or a replica on a lane that
  /// works.
  /// DeviceError if it is lost.
  Stored place(const Residues& source, std::size_t piece) const;
  /// Which pieces of an array are lost with devices; "" if none is.
  std::string lost(const Residues& source) const;
  void replicate(const Residues& single, const Pieces& pieces) const;

  /// Item `item` of array `source` of some.
  struct Item {
    std::uint32_t source, item;
  };
  struct Fetch;
  struct Share;
  /// Item i of the result, which is cut as `pieces` are, is origins[i].
  Held gather(const Shape& shape, std::span<const Held> sources, std::span<const Item> origins,
              Pieces pieces) const;
  /// What one batch of all of `arrays` is made of, in sequence. ShapeError names `operation`.
  std::pair<Shape, std::vector<Held>> alike(const char* operation,
                                            std::span<const Array> arrays) const;
  /// gather as an array, done again where a device fails.
  Array gathered(const Shape& shape, std::span<const Held> sources,
                 std::span<const Item> origins) const;
  Share share_of(const run::Piece& piece, std::span<const Held> sources,
                 std::span<const Item> origins) const;
  void send(std::size_t rows, Fetch& fetch) const;
  void fetch(const Site& site, std::size_t rows, const Fetch& fetch, Slice out) const;

  /// body(site, views of the operands), on each piece, again where memory was short and results
  /// that are there could leave.
  template <std::size_t operands, class Body>
  void work(std::span<const std::shared_ptr<Residues>> outs, const Pieces& pieces,
            const std::array<Held, operands>& held, const Body& body) const {
    const auto one = [&](std::size_t i) {
      const Site here = site(i, pieces[i]);
      const auto spill_done = [&] {
        bool any = false;
        for (const auto& out : outs)
          for (const Stored& done : out->buffers)
            if (done && &done.lane() == &here.lane) any = done.spill() || any;
        return any;
      };
      run::with_room(here.lane, spill_done, [&] {
        [&]<std::size_t... k>(std::index_sequence<k...>) { body(here, view(*held[k], here)...); }
        (std::make_index_sequence<operands>{});
      });
    };
    fleet().each(pieces, false, one);
  }
  /// The array that body(site, out, views) makes of arrays of equal count, or singles.
  template <class Body, class... Operands>
  Array make(const Shape& shape, const Body& body, const Operands&... operands) const {
    return in_pieces(shape.count, [&](Pieces pieces) {
      return make_on(std::move(pieces), shape, body, operands...);
    });
  }
  template <class Body, class... Operands>
  Array make_on(Pieces pieces, const Shape& shape, const Body& body,
                const Operands&... operands) const {
    const auto out = draft(shape, std::move(pieces));
    work(std::span(&out, 1), out->pieces,
         std::array<Held, sizeof...(Operands)>{aligned(operands, out->pieces, shape.count)...},
         [&](const Site& here, const auto&... views) {
           Buffer buffer = here.polynomials(shape.rows());
           body(here, buffer.slice(), views...);
           out->buffers[here.piece] = Stored(here.lane, std::move(buffer));
         });
    return wrap(out);
  }

  // ---- arithmetic-inl.h

  /// Primes of a basis, `parts` times.
  std::vector<math::Modulus<Word>> moduli(const ring::Basis& basis, unsigned parts) const;
  /// Repeats (rows, N) for each ciphertext of the piece. `keep` owns the memory that this may need.
  ConstSlice repeated(const Site& site, std::size_t rows, std::size_t count, ConstSlice of,
                      Buffer& keep) const;
  View spread(const Site& site, const View& view, Buffer& keep) const {
    return {view.shape, site.count, site.N,
            repeated(site, view.shape.rows(), view.count, view.all, keep)};
  }
  /// A plaintext's residues over `basis`, which it may have more primes than.
  ConstSlice over(const Site& site, const View& plain, const ring::Basis& basis,
                  Buffer& keep) const;
  /// It may be stored by its period.
  void check_plain(const char* what, const Array& a, const Array& m) const;
  /// Returns the shape of `a`, in evaluation form, modulo other primes.
  Shape shape_over(const char* what, const Array& a, const ring::Basis& to) const;
  /// One residue modulo each prime of the basis, as words. ShapeError for another number of them,
  /// RangeError for one that is not below its prime.
  std::vector<Word> residues_of(const char* what, const ring::Basis& basis,
                                std::span<const std::uint64_t> residues) const;
  Array scaled(const Array& a, const std::vector<Word>& each) const;
  /// weighted_sums() of the inputs from number `first` on, so many of them.
  Array some_weighted_sums(const Array& a, std::span<const double> weights, double scale,
                           std::size_t inputs, std::size_t first, std::size_t count,
                           std::span<const std::uint64_t> constants) const;
  /// Items of an array as one piece on each lane of `pieces`, and where that is, lane by lane.
  struct Everywhere {
    Held held;
    std::map<std::size_t, std::size_t> piece_of_lane;
  };
  Everywhere everywhere(const Array& a, std::size_t first, std::size_t count,
                        const Pieces& pieces) const;
  /// Products of polynomials of the piece's count, or of which one is a single.
  void multiply(const Site& site, const ring::Basis& basis, const View& a, ConstSlice b,
                unsigned b_parts, std::size_t b_count, const backend::TensorEnd<Word>& end,
                Slice out) const;

  // ---- switching-inl.h

  static std::shared_ptr<const PreparedKey> key_on(const Site& site, const Key& key) {
    return key.devices().template on<PreparedKey>(site.lane);
  }
  static std::size_t digits_over(const ring::Basis& basis, const ring::KeyLayout& layout);
  /// (digits, basis and special, many, B, N) of (basis, many, B, N).
  Buffer digits_of(const Site& site, const ring::Basis& basis, const ring::KeyLayout& layout,
                   ConstSlice part, std::size_t many = 1) const;
  /// (2, basis and special, B, N).
  Buffer product_of(const Site& site, const PreparedKey& key, const ring::Basis& basis,
                    std::uint32_t g, const Buffer& digits) const;
  /// Returns the inner product of the digits of `part` at X^added.g, with `added` in the first
  /// parts.
  Buffer product_of(const Site& site, const PreparedKey& key, const ring::Basis& basis,
                    ConstSlice part, const backend::ScaledTerm<Word>& added) const;
  /// out <- (added(X^g), 0) + digits(X^g)·key / P, two parts.
  void switched(const Site& site, const Key& key, const ring::Basis& basis, std::uint32_t g,
                const Buffer& digits, ConstSlice added, std::uint64_t t, Slice out) const;
  /// The same with the digits of `part`, which nothing else needs.
  void switched(const Site& site, const Key& key, const ring::Basis& basis, std::uint32_t g,
                ConstSlice part, ConstSlice added, std::uint64_t t, Slice out) const;
  void check_switch(const char* what, const Array& a, const Key& key) const;
  /// The product of `special` modulo each prime of `rows`: 0 modulo its own.
  std::vector<Word> product_modulo(const ring::Basis& special, const ring::Basis& rows) const;
  /// automorphisms(), of what has been checked.
  std::vector<Array> turned(const Pieces& pieces, const Array& a, std::span<const std::uint32_t> gs,
                            const Keys& keys, std::uint64_t t) const;

  // ---- linear_map-inl.h

  /// Returns the count of a sum of products of `a` and plaintexts. ShapeError unless all have that
  /// number, or one.
  std::size_t count_with(const char* what, const Array& a, std::span<const Array> plains) const;
  struct Sum;
  struct HoistedSteps;

  std::shared_ptr<const Plan> plan_;
  std::vector<std::unique_ptr<const Tables>> tables_;  ///< of each lane
  std::size_t turned_sums_ = 0;  ///< that all devices fuse (backend::RnsFusions)
  /// What downloads are written to: fresh pages cost more than the copy.
  std::shared_ptr<backend::BlockCache> host_memory_ = std::make_shared<backend::BlockCache>();
  mutable math::ProcessMutex fft_mutex_;  ///< of those below
  mutable std::map<std::uint32_t, ring::FftPlan> fft_plans_;
  mutable math::ProcessMutex small_mutex_;  ///< of those below
  /// By dimensions, and by dimensions and lanes.
  mutable std::map<std::uint32_t, std::shared_ptr<const Plan>> small_plans_;
  mutable std::map<std::pair<std::uint32_t, const run::Lane*>, std::unique_ptr<const Tables>>
      small_tables_;
};

}  // namespace whorl::lattice::rlwe

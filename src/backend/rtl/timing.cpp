#include "backend/rtl/timing.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backend/rtl/memory_timing.h"
#include "backend/rtl/units.h"
#include "whorl/error.h"

namespace whorl::backend::rtl {

namespace {

/// A reader and its memory.
struct Source {
  Reader reader;
  ReadTiming memory;
  Source(const MemoryTiming& timing, Port port, std::uint32_t beat_bytes, std::uint32_t bursts)
      : reader(beat_bytes, bursts), memory(timing, port, beat_bytes) {}
  void tick(bool command, std::uint64_t address, std::uint64_t beats, bool out_ready) {
    const bool arready = memory.arready(), asks = reader.arvalid();
    const std::uint64_t at = reader.araddr();
    const std::uint32_t length = reader.beats();
    reader.tick(command, address, beats, out_ready, arready, memory.rvalid());
    memory.end(asks, at, length);
  }
};

/// A port of the bootstrapping key.
struct KeyPort {
  Source source;
  ChunkBuffer chunks;
  std::uint64_t left;  ///< ciphertexts for which the key is still to be read
};

}  // namespace

void MemoryTiming::check() const {
  if (stall > 256)
    throw ParameterError("the memory's stall = " + std::to_string(stall) +
                         " is not in 0 … 256: it is of 256 beats");
}

struct Timing::State {
  Shape shape;
  Descriptor d;
  std::vector<std::uint32_t> index;
  Budget budget;
  std::vector<KeyPort> bk;
  Source ksk, io;
  WriteTiming answers;
  Writer writer;
  Sequencer sequencer;
  Loader loader;
  Drain drain;
  WordBeats long_beats;
  Switcher switcher;
  bool rounded[3] = {};
  Counters counters;
  std::uint64_t bk_beats, ksk_beats, result_beats, of_result = 0;
  bool done = false;

  State(const Shape& core, const Descriptor& descriptor, std::span<const std::uint32_t> luts,
        const MemoryTiming& memory)
      : shape(core),
        d(descriptor),
        index(luts.begin(), luts.end()),
        budget(memory.bytes_a_cycle),
        ksk(memory, ksk_port, core.ksk_bytes(), 4),
        io(memory, io_port, core.mem_bytes(), 2),
        answers(memory, io_port, core.mem_bytes()),
        writer(core.mem_bytes()),
        sequencer(core),
        loader(core, descriptor, index),
        drain(core),
        long_beats(core.mem_bits / 64),
        switcher(core, descriptor.n),
        bk_beats(core.steps(descriptor.n) * core.chunk_beats()),
        ksk_beats(std::uint64_t{core.N()} * core.L_ks * core.ksk_row_beats(descriptor.n)),
        result_beats(core.io_beats(result_words(descriptor, core))) {
    for (std::uint32_t s = 0; s < core.bk_ports; ++s)
      bk.push_back({Source(memory, bk_port + s, core.mem_bytes(), 4),
                    ChunkBuffer(core.chunk_beats(), core.bk_buffers),
                    descriptor.rotates() ? descriptor.count : 0});
    if (descriptor.rotates()) sequencer.start(descriptor.count, core.steps(descriptor.n));
    if (descriptor.switches()) switcher.start(descriptor.count);
    loader.start();
    writer.start(descriptor.count * result_beats);
  }

  void cycle() {
    const bool rotates = d.rotates(), extracts = !d.switches();
    // What the memories offer.
    const bool awvalid = writer.awvalid(), wvalid = writer.wvalid(), wlast = writer.wlast();
    budget.in_turns(shape.bk_ports + 3, [&](std::uint32_t k) {
      if (k < shape.bk_ports)
        bk[k].source.memory.look(budget);
      else if (k == shape.bk_ports)
        ksk.memory.look(budget);
      else if (k == shape.bk_ports + 1)
        io.memory.look(budget);
      else
        answers.look(wvalid, budget);
    });
    const bool wready = answers.wready(), awready = answers.awready();
    const bool bvalid = answers.bvalid();

    // Wires between the units.
    sequencer.look(
        std::ranges::all_of(bk, [](const KeyPort& port) { return port.chunks.ready(); }));
    const bool ks_ready = switcher.in_ready();
    const bool rounded_moves = !rounded[2] || ks_ready;
    const bool sample = drain.out_valid(), sample_last = drain.out_last();
    const bool sample_ready = extracts ? long_beats.in_ready() : rounded_moves;
    const bool ks_valid = rotates ? rounded[2] : loader.word_valid();
    const bool result_valid = extracts ? long_beats.out_valid() : switcher.out_valid();
    const bool result_ready = writer.in_ready();
    const bool bank_free = drain.bank_free(), batch_loaded = loader.batch_loaded();
    const bool written = wvalid && wready;
    const bool result_written = written && of_result + 1 == result_beats;

    // Counters.
    ++counters.cycles;
    counters.slots += sequencer.slot_begins;
    if (sequencer.slot_begins) counters.pe_slots += sequencer.active;
    counters.wait_key += sequencer.waits_for_key;
    counters.wait_acc += sequencer.waits_for_accumulator;
    counters.wait_load += sequencer.waits_for_batch;
    counters.bk_beats += bk[0].source.memory.rvalid();
    counters.ksk_beats += ksk.memory.rvalid();
    counters.io_read_beats += io.memory.rvalid();
    counters.io_write_beats += written;
    counters.ks_busy += switcher.busy();
    counters.results += result_written;
    done = writer.done(bvalid);

    // The edge.
    for (KeyPort& port : bk) {
      const bool command = port.left != 0, taken = command && port.source.reader.command_ready();
      const bool beat = port.source.reader.out_valid(), ready = port.chunks.in_ready();
      port.source.tick(command, d.bk_addr[&port - bk.data()], bk_beats, ready);
      port.chunks.tick(beat, sequencer.acquire, sequencer.release_chunk);
      if (taken) port.left -= std::min<std::uint64_t>(port.left, shape.capacity());
    }
    const bool ksk_command = switcher.command_valid(), ksk_taken = ksk.reader.command_ready();
    const bool ksk_beat = ksk.reader.out_valid();
    ksk.tick(ksk_command, d.ksk_addr, ksk_beats, switcher.beat_ready());
    const bool io_command = loader.command_valid(), io_taken = io.reader.command_ready();
    const bool io_beat = io.reader.out_valid();
    const bool io_ready = loader.beat_ready();
    const std::uint64_t io_address = io_command ? loader.command_address() : 0;
    const std::uint64_t io_beats = io_command ? loader.command_beats() : 0;
    io.tick(io_command, io_address, io_beats, io_ready);
    writer.tick(result_valid, awready, wready, bvalid);
    answers.end(awvalid, wvalid, wlast);
    if (written) of_result = result_written ? 0 : of_result + 1;
    drain.tick(sequencer.batch_done, sequencer.batch_done_count, sample_ready);
    sequencer.tick(batch_loaded);
    loader.tick(io_taken, io_beat, ks_ready, bank_free);
    long_beats.tick(sample && extracts, sample_last, extracts && result_ready);
    switcher.tick(ks_valid, ksk_taken, ksk_beat, !extracts && result_ready);
    if (rounded_moves) {
      rounded[2] = rounded[1];
      rounded[1] = rounded[0];
      rounded[0] = sample && !extracts;
    }
  }
};

Timing::Timing(const Shape& shape, const Descriptor& descriptor,
               std::span<const std::uint32_t> index, const MemoryTiming& memory)
    : state_(std::make_unique<State>(shape, descriptor, index, memory)) {}
Timing::~Timing() = default;
Timing::Timing(Timing&&) noexcept = default;
Timing& Timing::operator=(Timing&&) noexcept = default;

bool Timing::advance(std::uint64_t cycles) {
  for (; cycles > 0 && !state_->done; --cycles) state_->cycle();
  return state_->done;
}
bool Timing::done() const { return state_->done; }
const Counters& Timing::counters() const { return state_->counters; }

std::uint64_t most_cycles(const Shape& shape, const Descriptor& d, const MemoryTiming& memory) {
  using Wide = unsigned __int128;  // no product of what a host may choose passes 2^128
  const Wide count = d.count, batches = (count + shape.capacity() - 1) / shape.capacity();
  const Wide key = d.rotates() ? batches * shape.steps(d.n) * shape.chunk_beats() : 0;
  const Wide rows = d.switches() ? batches * shape.N() * shape.L_ks : 0;
  const Wide ksk = rows * shape.ksk_row_beats(d.n);
  const Wide io = count * (shape.io_beats(record_words(d, shape)) +
                           shape.io_beats(result_words(d, shape)) + shape.io_beats(2 * shape.N()));
  const Wide beats = key * shape.bk_ports + ksk + io;
  // Each beat as late as one can be, nothing beside anything else, and bursts of one beat.
  Wide a_beat = Wide{2} + memory.stall_cycles + memory.latency;
  if (memory.bytes_a_cycle)
    a_beat += std::max(shape.mem_bytes(), shape.ksk_bytes()) / memory.bytes_a_cycle + 1;
  const Wide slots = batches * shape.steps(d.n) * shape.K * (shape.rows() + shape.lat_wb() + 2);
  const Wide products = rows * (4 + std::uint64_t{shape.capacity()} * (d.n / shape.ks_lanes + 1));
  const Wide words = count * (8 * std::uint64_t{shape.N()} + 4 * std::uint64_t{d.n});
  const Wide most = 100000 + beats * a_beat * 2 + slots + products + words * 2;
  return static_cast<std::uint64_t>(std::min(most, Wide{~0ull}));
}

}  // namespace whorl::backend::rtl

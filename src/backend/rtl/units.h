// The control of the core's units, register by register as in rtl/src, without their data: what is
// needed to know in which cycle something happens. Methods named after outputs read registers only;
// tick() is the clock's edge, with the inputs of the cycle that ends. start() leaves the registers
// as the edge does that ends the launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "backend/rtl/registers.h"
#include "backend/rtl/shape.h"

namespace whorl::backend::rtl {

/// memory/stream_fifo.sv
class Fifo {
 public:
  explicit Fifo(std::uint32_t depth) : depth_(depth) {}
  bool in_ready() const { return count_ != depth_; }
  bool out_valid() const { return head_; }
  std::uint32_t space() const { return depth_ - count_; }
  std::uint32_t held() const { return count_; }
  void tick(bool in_valid, bool out_ready) {
    const bool pushes = in_valid && in_ready(), pops = head_ && out_ready;
    head_ = pushes || count_ > (pops ? 1u : 0u);
    count_ += pushes;
    count_ -= pops;
  }

 private:
  std::uint32_t depth_, count_ = 0;
  bool head_ = false;
};

/// Beats of a whole burst of the ports.
inline std::uint32_t burst_beats(std::uint32_t beat_bytes) {
  return std::min<std::uint32_t>(4096 / beat_bytes, 64);
}

/// memory/axi_reader.sv
class Reader {
 public:
  Reader(std::uint32_t beat_bytes, std::uint32_t bursts)
      : bytes_(beat_bytes),
        burst_(burst_beats(beat_bytes)),
        depth_(burst_ * bursts),
        queue_(depth_) {}
  bool command_ready() const { return !busy_; }
  bool out_valid() const { return queue_.out_valid(); }
  bool arvalid() const { return arvalid_; }
  std::uint64_t araddr() const { return araddr_; }
  std::uint32_t beats() const { return beats_; }

  void tick(bool command, std::uint64_t address, std::uint64_t command_beats, bool out_ready,
            bool arready, bool rvalid) {
    const std::uint32_t room = burst_ - static_cast<std::uint32_t>(address_ / bytes_ % burst_);
    const std::uint32_t length = static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, room));
    const bool ask = busy_ && (!arvalid_ || arready) && reserved_ + length <= depth_;
    const bool take = out_valid() && out_ready;
    if (arvalid_ && arready) arvalid_ = false;
    reserved_ += ask ? length : 0;
    reserved_ -= take;
    if (command && !busy_) {
      busy_ = true;
      address_ = address;
      left_ = command_beats;
    } else if (ask) {
      arvalid_ = true;
      araddr_ = address_;
      beats_ = length;
      if (left_ == length) busy_ = false;
      address_ += std::uint64_t{length} * bytes_;
      left_ -= length;
    }
    queue_.tick(rvalid, out_ready);
  }

 private:
  std::uint32_t bytes_, burst_, depth_, reserved_ = 0, beats_ = 0;
  std::uint64_t address_ = 0, left_ = 0, araddr_ = 0;
  bool busy_ = false, arvalid_ = false;
  Fifo queue_;
};

/// memory/axi_writer.sv
class Writer {
 public:
  explicit Writer(std::uint32_t beat_bytes) : burst_(burst_beats(beat_bytes)), queue_(burst_ * 2) {}
  bool in_ready() const { return queue_.in_ready(); }
  bool awvalid() const { return awvalid_; }
  bool wvalid() const { return writing_ && queue_.out_valid(); }
  bool wlast() const { return count_ == 1; }
  bool done(bool bvalid) const { return busy_ && bvalid && left_ == 0; }
  /// Sets the state that the edge leaves at which the command is taken.
  void start(std::uint64_t beats) {
    busy_ = true;
    left_ = beats;
  }

  void tick(bool in_valid, bool awready, bool wready, bool bvalid) {
    const std::uint32_t length = static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, burst_));
    const bool begins =
        busy_ && !awvalid_ && !writing_ && !waiting_ && left_ != 0 && queue_.held() >= length;
    const bool beat = wvalid() && wready, last = beat && wlast(), ends = done(bvalid);
    queue_.tick(in_valid, writing_ && wready);
    if (awvalid_ && awready) awvalid_ = false;
    if (begins) awvalid_ = writing_ = waiting_ = true;
    if (last) writing_ = false;
    if (bvalid) waiting_ = false;
    if (ends) busy_ = false;
    if (begins) {
      left_ -= length;
      count_ = length;
    } else if (beat) {
      --count_;
    }
  }

 private:
  std::uint32_t burst_, count_ = 0;
  std::uint64_t left_ = 0;
  bool busy_ = false, awvalid_ = false, writing_ = false, waiting_ = false;
  Fifo queue_;
};

/// memory/chunk_buffer.sv
class ChunkBuffer {
 public:
  ChunkBuffer(std::uint64_t chunk_beats, std::uint32_t buffers)
      : beats_(chunk_beats), buffers_(buffers) {}
  bool in_ready() const { return held_ != buffers_; }
  bool ready() const { return whole_ != 0; }
  void tick(bool in_valid, bool acquire, bool release) {
    bool last = false;
    if (in_valid && in_ready()) {
      last = ++at_ == beats_;
      if (last) at_ = 0;
    }
    held_ += last;
    held_ -= release;
    whole_ += last;
    whole_ -= acquire;
  }

 private:
  std::uint64_t beats_, at_ = 0;
  std::uint32_t buffers_, held_ = 0, whole_ = 0;
};

/// top/sequencer.sv. Its wires are computed by look() before tick().
class Sequencer {
 public:
  explicit Sequencer(const Shape& shape)
      : shape_(shape), ready_at_(shape.K, 0), rows_(shape.rows()), lat_wb_(shape.lat_wb()) {}
  void start(std::uint64_t count, std::uint64_t steps) {
    left_ = count;
    steps_ = steps;
  }

  bool slot_begins, acquire, waits_for_batch, waits_for_accumulator, waits_for_key;
  bool release_chunk, batch_done;
  std::uint32_t active;            ///< PEs of the slot
  std::uint64_t batch_done_count;  ///< ciphertexts

  void look(bool chunk_ready) {
    const bool wants = left_ != 0 && now_ >= spaced_at_;
    const bool no_batch = step_ == 0 && place_ == 0 && loaded_ == 0;
    const bool no_accumulator = now_ < ready_at_[place_];
    const bool no_key = place_ == 0 && !chunk_ready;
    slot_begins = wants && !no_batch && !no_accumulator && !no_key;
    acquire = slot_begins && place_ == 0;
    waits_for_batch = wants && no_batch;
    waits_for_accumulator = wants && !no_batch && no_accumulator;
    waits_for_key = wants && !no_batch && !no_accumulator && no_key;
    release_chunk = !releases_.empty() && releases_.front() == now_;
    batch_done = !ends_.empty() && ends_.front().at == now_;
    batch_done_count = batch_done ? ends_.front().count : 0;
    if (slot_begins) active = active_pes();
  }
  void tick(bool batch_loaded) {
    if (release_chunk) releases_.pop_front();
    if (batch_done) ends_.pop_front();
    loaded_ += batch_loaded;
    if (slot_begins) {
      const std::uint64_t in_batch = this->in_batch();
      const bool last_place =
          place_ == shape_.K - 1 || (place_ + 1) * std::uint64_t{shape_.pes} >= in_batch;
      const bool last_step = step_ == steps_ - 1;
      spaced_at_ = now_ + rows_;
      ready_at_[place_] = now_ + 1 + lat_wb_;
      if (last_place) releases_.push_back(now_ + shape_.lat_bku() + rows_ + 3);
      if (last_place && last_step) {
        ends_.push_back({now_ + lat_wb_ + rows_ + 1, in_batch});
        left_ -= in_batch;
        --loaded_;
      }
      place_ = last_place ? 0 : place_ + 1;
      if (last_place) step_ = last_step ? 0 : step_ + 1;
    }
    ++now_;
  }
  /// Places of this batch that a slot takes: ciphertexts that are not in PE 0 have one there.
  std::uint64_t in_batch() const { return std::min<std::uint64_t>(left_, shape_.capacity()); }

 private:
  std::uint32_t active_pes() const {
    const std::uint64_t before = std::uint64_t{place_} * shape_.pes, all = in_batch();
    return all <= before
               ? 0
               : static_cast<std::uint32_t>(std::min<std::uint64_t>(all - before, shape_.pes));
  }
  struct End {
    std::uint64_t at, count;
  };
  Shape shape_;
  std::vector<std::uint64_t> ready_at_;
  std::uint64_t rows_, lat_wb_;
  std::uint64_t now_ = 0, left_ = 0, steps_ = 0, step_ = 0, spaced_at_ = 0;
  std::uint32_t place_ = 0, loaded_ = 0;
  std::deque<std::uint64_t> releases_;
  std::deque<End> ends_;
};

/// io/beat_words.sv
class BeatWords {
 public:
  explicit BeatWords(std::uint32_t words) : words_(words) {}
  bool in_ready() const { return left_ == 0; }
  bool out_valid() const { return left_ != 0; }
  void tick(bool in_valid, bool out_ready, bool skip) {
    if (in_valid && in_ready())
      left_ = words_;
    else if (out_valid() && out_ready)
      left_ = skip ? 0 : left_ - 1;
  }

 private:
  std::uint32_t words_, left_ = 0;
};

/// io/loader.sv; `index` has each ciphertext's test vector.
class Loader {
 public:
  Loader(const Shape& shape, const Descriptor& d, std::span<const std::uint32_t> index)
      : shape_(shape),
        d_(d),
        index_(index),
        record_beats_(shape.io_beats(record_words(d, shape))),
        words_(shape.mem_bits / 32),
        longs_(shape.mem_bits / 64) {}
  void start() {
    state_ = State::bank;
    left_ = d_.count;
    record_ = d_.in_addr;
  }

  bool command_valid() const { return state_ == State::ask_record || state_ == State::ask_lut; }
  std::uint64_t command_address() const {
    return state_ == State::ask_record ? record_
                                       : d_.lut_addr + std::uint64_t{lut_} * shape_.N() * 8;
  }
  std::uint64_t command_beats() const {
    return state_ == State::ask_record ? record_beats_
                                       : std::uint64_t{shape_.N()} * 8 / shape_.mem_bytes();
  }
  bool beat_ready() const {
    return state_ == State::lut ? longs_.in_ready() : state_ == State::record && words_.in_ready();
  }
  bool word_valid() const { return state_ == State::record && !d_.rotates() && words_.out_valid(); }
  bool batch_loaded() const { return state_ == State::next && last_of_batch() && d_.rotates(); }

  void tick(bool command_ready, bool beat_valid, bool word_ready, bool bank_free) {
    const bool switch_only = !d_.rotates(), loaded = batch_loaded();
    const bool last_word = at_ == (switch_only ? shape_.N() : d_.n + 1);
    const bool words_valid = words_.out_valid(), longs_valid = longs_.out_valid();
    const bool words_take = state_ == State::record && (!switch_only || word_ready);
    const bool longs_take = state_ == State::lut;
    words_.tick(beat_valid && state_ == State::record, words_take, last_word);
    longs_.tick(beat_valid && state_ == State::lut, longs_take, false);
    const bool bank_there = free_banks_ != 0;
    free_banks_ += bank_free;
    free_banks_ -= loaded;
    switch (state_) {
      case State::idle:
        break;
      case State::bank:
        if (switch_only || bank_there) state_ = State::ask_record;
        break;
      case State::ask_record:
        at_ = 0;
        if (command_ready) {
          state_ = State::record;
          record_ += record_beats_ * shape_.mem_bytes();
        }
        break;
      case State::record:
        if (words_valid && words_take) {
          ++at_;
          if (last_word) {
            at_ = 0;
            if (switch_only) {
              state_ = State::next;
            } else {
              lut_ = index_[d_.count - left_];
              state_ = lut_held_ && lut_ == held_lut_ ? State::spread : State::ask_lut;
            }
          }
        }
        break;
      case State::ask_lut:
        if (command_ready) state_ = State::lut;
        break;
      case State::lut:
        if (longs_valid && ++at_ == shape_.N()) {
          at_ = 0;
          state_ = State::spread;
          lut_held_ = true;
          held_lut_ = lut_;
        }
        break;
      case State::spread:
        if (at_++ == shape_.N() / 2) state_ = State::next;
        break;
      case State::next: {
        const bool last = last_of_batch();
        in_batch_ = last ? 0 : in_batch_ + 1;
        state_ = left_ == 1 ? State::idle : last ? State::bank : State::ask_record;
        --left_;
        break;
      }
    }
  }

 private:
  enum class State : std::uint8_t { idle, bank, ask_record, record, ask_lut, lut, spread, next };
  bool last_of_batch() const { return left_ == 1 || in_batch_ == shape_.capacity() - 1; }

  Shape shape_;
  Descriptor d_;
  std::span<const std::uint32_t> index_;
  std::uint64_t record_beats_;
  BeatWords words_, longs_;
  State state_ = State::idle;
  std::uint64_t record_ = 0, left_ = 0;
  std::uint32_t at_ = 0, in_batch_ = 0, free_banks_ = 2, lut_ = 0, held_lut_ = 0;
  bool lut_held_ = false;
};

/// io/drain.sv
class Drain {
 public:
  explicit Drain(const Shape& shape) : N_(shape.N()), queue_(16) {}
  bool out_valid() const { return queue_.out_valid(); }
  bool out_last() const { return taken_ == N_; }
  bool bank_free() const { return issue() && at_ == N_ && done_ + 1 == counts_.front(); }
  void tick(bool batch_done, std::uint64_t count, bool out_ready) {
    const bool issues = issue(), frees = bank_free(), takes = out_valid() && out_ready;
    queue_.tick(valid_[2], out_ready);
    valid_[2] = valid_[1];
    valid_[1] = valid_[0];
    valid_[0] = issues;
    if (takes) taken_ = taken_ == N_ ? 0 : taken_ + 1;
    if (issues) {
      const bool last_word = at_ == N_;
      at_ = last_word ? 0 : at_ + 1;
      if (last_word) done_ = frees ? 0 : done_ + 1;
      if (frees) counts_.pop_front();
    }
    if (batch_done) counts_.push_back(count);
  }

 private:
  bool issue() const { return !counts_.empty() && queue_.space() > 3; }
  std::uint32_t N_, at_ = 0, taken_ = 0;
  std::uint64_t done_ = 0;
  bool valid_[3] = {};
  std::deque<std::uint64_t> counts_;
  Fifo queue_;
};

/// io/word_beats.sv
class WordBeats {
 public:
  explicit WordBeats(std::uint32_t words) : words_(words) {}
  bool in_ready() const { return !valid_; }
  bool out_valid() const { return valid_; }
  void tick(bool in_valid, bool in_last, bool out_ready) {
    const bool take = in_valid && in_ready();
    if (valid_ && out_ready) valid_ = false;
    if (!take) return;
    const bool ends = in_last || at_ == words_ - 1;
    at_ = ends ? 0 : at_ + 1;
    if (ends) valid_ = true;
  }

 private:
  std::uint32_t words_, at_ = 0;
  bool valid_ = false;
};

/// keyswitch/key_switch.sv
class Switcher {
 public:
  Switcher(const Shape& shape, std::uint32_t n)
      : shape_(shape),
        row_words_(n + 1),
        groups_((n + shape.ks_row_lanes()) / shape.ks_row_lanes()),
        at_once_(shape.ks_rows_at_once()),
        row_beats_(shape.ks_row_lanes() * 32 / shape.mem_bits),
        rows_(shape.ksk_row_count()),
        rows_held_(shape.ksk_rows_held()) {}
  void start(std::uint64_t count) { in_left_ = key_left_ = count; }

  bool in_ready() const { return in_left_ != 0 && !full_[in_half_]; }
  bool command_valid() const { return key_left_ != 0; }
  bool beat_ready() const { return ahead_ != rows_held_; }
  bool out_valid() const { return state_ == State::send; }
  bool busy() const { return works() && !all_issued_; }

  void tick(bool in_valid, bool command_ready, bool beat_valid, bool out_ready) {
    const bool take_in = in_valid && in_ready(), does = works(), issues = busy();
    const bool last_issue = c_ == held_[half_] - 1 && group_ == groups_ - 1;
    const bool over = does && (all_issued_ || last_issue) && cycles_ == 3;
    const std::uint32_t out_words = shape_.mem_bits / 32, key_words = shape_.ksk_bits / 32;
    const bool sent_last = send_words_ + out_words >= row_words_;
    const bool frees =
        state_ == State::send && out_ready && sent_last && send_c_ == held_[half_] - 1;
    const bool beat = beat_valid && beat_ready();
    const std::uint32_t half = half_;

    switch (state_) {
      case State::rows:
        if (!does) break;
        if (cycles_ != 3) ++cycles_;
        if (issues) {
          if (c_ == held_[half_] - 1) {
            c_ = 0;
            group_ = last_issue ? 0 : group_ + 1;
          } else {
            ++c_;
          }
          if (last_issue) all_issued_ = true;
        }
        if (over) {
          all_issued_ = false;
          cycles_ = 0;
          ahead_ -= at_once_;
          row_ += at_once_;
          if (row_ == rows_) {
            row_ = 0;
            if (rows_held_ == rows_) ahead_ = rows_;  // the whole key stays
            state_ = State::finish;
          }
        }
        break;
      case State::finish:
        if (wait_ == 7) state_ = State::fetch;
        wait_ = (wait_ + 1) % 8;
        break;
      case State::fetch:
        if (wait_ % 2 == 1) {
          wait_ = 0;
          state_ = State::send;
        } else {
          ++wait_;
        }
        break;
      case State::send:
        if (!out_ready) break;
        send_slot_ = send_slot_ + 1;
        send_words_ += out_words;
        if (sent_last || send_slot_ == row_beats_) {
          send_slot_ = 0;
          state_ = State::fetch;
        }
        if (sent_last) {
          send_words_ = 0;
          if (++send_c_ == held_[half]) {
            send_c_ = 0;
            half_ ^= 1;
            state_ = State::rows;
          }
        }
        break;
    }

    // Rows of the key.
    if (beat) {
      const bool last = fill_words_ + key_words >= row_words_;
      fill_words_ = last ? 0 : fill_words_ + key_words;
      ahead_ += last;
    }
    // Intake.
    const bool in_last = take_in && in_at_ == shape_.N();
    const bool in_batch_last = in_left_ == 1 || in_ciphertext_ == shape_.capacity() - 1;
    if (frees) full_[half] = false;
    if (take_in) in_at_ = in_last ? 0 : in_at_ + 1;
    if (in_last) {
      held_[in_half_] = in_ciphertext_ + 1;
      if (in_batch_last) full_[in_half_] = true;
      --in_left_;
      in_ciphertext_ = in_batch_last ? 0 : in_ciphertext_ + 1;
      if (in_batch_last) in_half_ ^= 1;
    }
    // Commands.
    if (command_valid() && command_ready)
      key_left_ = rows_held_ == rows_
                      ? 0
                      : key_left_ - std::min<std::uint64_t>(key_left_, shape_.capacity());
  }

 private:
  enum class State : std::uint8_t { rows, finish, fetch, send };
  bool works() const { return state_ == State::rows && full_[half_] && ahead_ >= at_once_; }

  Shape shape_;
  std::uint32_t row_words_, groups_, at_once_, row_beats_;
  std::uint64_t rows_, rows_held_, ahead_ = 0, row_ = 0, in_left_ = 0, key_left_ = 0;
  State state_ = State::rows;
  std::uint32_t in_half_ = 0, in_ciphertext_ = 0, in_at_ = 0, held_[2] = {};
  bool full_[2] = {}, all_issued_ = false;
  std::uint32_t fill_words_ = 0, half_ = 0, c_ = 0, group_ = 0, cycles_ = 0;
  std::uint32_t wait_ = 0, send_slot_ = 0, send_words_ = 0, send_c_ = 0;
};

}  // namespace whorl::backend::rtl

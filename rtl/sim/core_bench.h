// The core with memories behind its ports: AXI answers with random delays, registers, and runs.
#pragma once

#include <deque>
#include <string>

#include "Vwhorl_core.h"
#include "bench.h"
#include "images.h"

namespace bench {

using Bytes = std::vector<std::uint8_t>;

template <std::size_t words>
std::uint32_t* words_of(VlWide<words>& port) {
  return port.data();
}
template <class Port>
  requires std::is_integral_v<Port>
std::uint32_t* words_of(Port& port) {
  return reinterpret_cast<std::uint32_t*>(&port);
}

/// How often, in a hundred cycles, a channel stands still; and the delay of answers.
struct Stalls {
  unsigned percent = 0, delay = 10;
};

/// One read channel. core_checker.sv watches it; memory lies from `base` on.
class ReadPort {
 public:
  ReadPort(Bytes& memory, unsigned bits) : memory_(memory), bytes_(bits / 8) {}
  void clear() { queue_.clear(); }
  /// Before the clock's edge: sees the request's signals and offers an answer at `data`.
  template <class Ready, class Valid>
  void before(reference::Random& random, const Stalls& stalls, u64 cycle, bool arvalid, u64 address, unsigned length,
              Ready set_ready, Valid set_answer) {
    const bool ready = !random.chance(stalls.percent);
    set_ready(ready);
    if (arvalid && ready) {
      for (unsigned k = 0; k <= length; ++k)
        queue_.push_back({address - base + k * bytes_, cycle + 1 + stalls.delay + random.below(stalls.delay + 1), k == length});
    }
    // An answer that was offered stays: rready is always 1 in the core, so it is taken at once.
    const bool answers = !queue_.empty() && queue_.front().due <= cycle && !random.chance(stalls.percent);
    if (!answers) return set_answer(false, nullptr, u64{0}, false);
    const Beat beat = queue_.front();
    queue_.pop_front();
    const bool inside = beat.at < memory_.size() && bytes_ <= memory_.size() - beat.at;
    ++beats;
    set_answer(true, inside ? memory_.data() + beat.at : nullptr, !inside || beats == error_at ? 2 + beats % 2 : u64{0}, beat.last);
  }
  u64 beats = 0, error_at = 0, base = 0;

 private:
  Bytes& memory_;
  u64 bytes_;
  struct Beat {
    u64 at, due;
    bool last;
  };
  std::deque<Beat> queue_;
};

class Core {
 public:
  static constexpr unsigned mem_bytes = MEM_BITS / 8, ksk_bytes = KSK_BITS / 8;
  Core(u64 seed, Bytes& io, Bytes& ksk, std::vector<Bytes>& bk)
      : random(seed), io_(io), io_read_(io, MEM_BITS), ksk_read_(ksk, KSK_BITS) {
    for (Bytes& each : bk) bk_read_.emplace_back(each, MEM_BITS);
    reset();
  }
  void reset() {
    top.aresetn = 0;
    top.s_axil_awvalid = top.s_axil_wvalid = top.s_axil_arvalid = 0;
    top.s_axil_bready = top.s_axil_rready = 1;
    top.s_axil_wstrb = 15;
    io_read_.clear(), ksk_read_.clear(), writes_.clear(), data_.clear(), answers_.clear();
    for (ReadPort& port : bk_read_) port.clear();
    for (int i = 0; i < 3; ++i) step();
    io_read_.clear(), ksk_read_.clear(), writes_.clear(), data_.clear(), answers_.clear();
    for (ReadPort& port : bk_read_) port.clear();
    top.aresetn = 1;
  }
  void step() {
    top.aclk = 0;
    top.eval();
    ++cycle;
    const bool live = top.aresetn;
    for (unsigned s = 0; s < BK_PORTS; ++s)
      bk_read_[s].before(
          random, stalls, cycle, live && (top.m_axi_bk_arvalid >> s & 1), get(top.m_axi_bk_araddr, 64 * s, 64),
          static_cast<unsigned>(get(top.m_axi_bk_arlen, 8 * s, 8)),
          [&](bool ready) { put(top.m_axi_bk_arready, s, 1, ready); },
          [&](bool valid, const std::uint8_t* from, u64 resp, bool last) {
            put(top.m_axi_bk_rvalid, s, 1, valid);
            put(top.m_axi_bk_rlast, s, 1, last);
            put(top.m_axi_bk_rresp, 2 * s, 2, resp);
            answer(words_of(top.m_axi_bk_rdata) + s * MEM_BITS / 32, from, mem_bytes);
          });
    ksk_read_.before(
        random, stalls, cycle, live && top.m_axi_ksk_arvalid, top.m_axi_ksk_araddr, top.m_axi_ksk_arlen,
        [&](bool ready) { top.m_axi_ksk_arready = ready; },
        [&](bool valid, const std::uint8_t* from, u64 resp, bool last) {
          top.m_axi_ksk_rvalid = valid;
          top.m_axi_ksk_rlast = last;
          top.m_axi_ksk_rresp = static_cast<CData>(resp);
          answer(words_of(top.m_axi_ksk_rdata), from, ksk_bytes);
        });
    io_read_.before(
        random, stalls, cycle, live && top.m_axi_io_arvalid, top.m_axi_io_araddr, top.m_axi_io_arlen,
        [&](bool ready) { top.m_axi_io_arready = ready; },
        [&](bool valid, const std::uint8_t* from, u64 resp, bool last) {
          top.m_axi_io_rvalid = valid;
          top.m_axi_io_rlast = last;
          top.m_axi_io_rresp = static_cast<CData>(resp);
          answer(words_of(top.m_axi_io_rdata), from, mem_bytes);
        });
    write_channels(live);
    top.eval();
    top.aclk = 1;
    top.eval();
  }
  void write(unsigned address, std::uint32_t value, unsigned strobe = 15) {
    top.s_axil_wstrb = static_cast<CData>(strobe);
    bool address_left = true, word_left = true;
    const unsigned wait_address = stalls.percent ? static_cast<unsigned>(random.below(4)) : 0;
    const unsigned wait_word = stalls.percent ? static_cast<unsigned>(random.below(4)) : 0;
    const u64 low = random.below(4);  // of the address: not looked at
    top.s_axil_awprot = static_cast<CData>(random.below(8));
    for (unsigned t = 0; address_left || word_left; ++t) {
      if (t > 100) fail("write of a register hangs", address, 0, 0);
      top.s_axil_awvalid = address_left && t >= wait_address;
      top.s_axil_awaddr = static_cast<SData>(address | low);
      top.s_axil_wvalid = word_left && t >= wait_word;
      top.s_axil_wdata = value;
      top.aclk = 0;
      top.eval();
      const bool a = top.s_axil_awvalid && top.s_axil_awready, w = top.s_axil_wvalid && top.s_axil_wready;
      step();
      address_left &= !a;
      word_left &= !w;
    }
    top.s_axil_awvalid = top.s_axil_wvalid = 0;
    for (int t = 0; !top.s_axil_bvalid; ++t) {
      if (t > 100) fail("write of a register is not answered", address, 0, 0);
      step();
    }
    wait_with(top.s_axil_bready, top.s_axil_bvalid);
  }
  void write64(unsigned address, u64 value) {
    write(address, static_cast<std::uint32_t>(value));
    write(address + 4, static_cast<std::uint32_t>(value >> 32));
  }
  std::uint32_t read(unsigned address) {
    top.s_axil_arvalid = 1;
    top.s_axil_araddr = static_cast<SData>(address | random.below(4));
    top.s_axil_arprot = static_cast<CData>(random.below(8));
    step();
    top.s_axil_arvalid = 0;
    if (!top.s_axil_rvalid) fail("read of a register is not answered", address, 0, 0);
    const std::uint32_t value = top.s_axil_rdata;
    wait_with(top.s_axil_rready, top.s_axil_rvalid);
    check("a word of a register that waits", address, top.s_axil_rdata, value);
    return value;
  }
  u64 counter(unsigned c) { return read(0x180 + 8 * c) | u64{read(0x184 + 8 * c)} << 32; }
  /// Until the core is not busy; STATUS.
  std::uint32_t wait(u64 most) {
    for (u64 t = 0;; ++t) {
      const std::uint32_t status = read(0x00C);
      if (!(status & 1)) return status;
      if (t * 50 > most) fail("the core hangs; cycles", cycle, status, 0);
      for (int i = 0; i < 48; ++i) step();
    }
  }

  Vwhorl_core top;
  reference::Random random;
  Stalls stalls;
  u64 cycle = 0;
  u64 write_error_at = 0, bursts_written = 0;
  ReadPort& io_read() { return io_read_; }
  ReadPort& bk_read(unsigned s = 0) { return bk_read_[s]; }
  ReadPort& ksk_read() { return ksk_read_; }

 private:
  /// An answer of the registers is taken after a while, and stays until then.
  void wait_with(CData& ready, const CData& valid) {
    for (u64 left = stalls.percent ? random.below(3) : 0; left; --left) {
      ready = 0;
      step();
      check("an answer that waits", cycle, valid, 1);
    }
    ready = 1;
    step();
  }
  static void answer(std::uint32_t* to, const std::uint8_t* from, unsigned bytes) {
    if (from)
      std::memcpy(to, from, bytes);
    else
      std::memset(to, 0xA5, bytes);
  }
  void write_channels(bool live) {
    top.m_axi_io_awready = !random.chance(stalls.percent);
    top.m_axi_io_wready = !random.chance(stalls.percent);
    if (live && top.m_axi_io_awvalid && top.m_axi_io_awready) {
      writes_.push_back({top.m_axi_io_awaddr - io_read_.base, top.m_axi_io_awlen + 1u});
    }
    if (live && top.m_axi_io_wvalid && top.m_axi_io_wready) {
      Bytes beat(mem_bytes);
      std::memcpy(beat.data(), words_of(top.m_axi_io_wdata), mem_bytes);
      data_.push_back({beat, top.m_axi_io_wlast != 0});
    }
    while (!writes_.empty() && !data_.empty()) {
      auto& [address, left] = writes_.front();
      if (address < io_.size() && mem_bytes <= io_.size() - address)
        std::memcpy(io_.data() + address, data_.front().first.data(), mem_bytes);
      if (data_.front().second != (left == 1)) fail("wlast", address, data_.front().second, left);
      data_.pop_front();
      address += mem_bytes;
      if (--left == 0) {
        writes_.pop_front();
        answers_.push_back(cycle + 1 + stalls.delay);
      }
    }
    const bool answers = !answers_.empty() && answers_.front() <= cycle && !random.chance(stalls.percent);
    top.m_axi_io_bvalid = answers;
    top.m_axi_io_bresp = 0;
    if (answers) {
      answers_.pop_front();
      // Either answer of an error.
      if (++bursts_written == write_error_at) top.m_axi_io_bresp = 2 + bursts_written % 2;
    }
  }

  Bytes& io_;
  ReadPort io_read_, ksk_read_;
  std::vector<ReadPort> bk_read_;
  std::deque<std::pair<u64, u64>> writes_;
  std::deque<std::pair<Bytes, bool>> data_;
  std::deque<u64> answers_;
};

}  // namespace bench

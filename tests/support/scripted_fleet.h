// Fleets of scripted devices.
#pragma once

#include "run/fleet.h"
#include "support/scripted_device.h"
#include "support/test.h"

namespace whorl::test {

class ScriptedFleet : public ::testing::Test {
 protected:
  using Words = std::vector<std::uint32_t>;

  /// One more device of the next fleet.
  std::shared_ptr<Script> add(const std::string& name) {
    auto script = std::make_shared<Script>();
    script->name = name;
    devices_.push_back(std::make_shared<ScriptedDevice>(script));
    return script;
  }
  /// A fleet of the devices added so far.
  std::unique_ptr<const run::Fleet> fleet(std::size_t least_share = 1,
                                          std::function<bool()> interrupt = {}) {
    return std::make_unique<const run::Fleet>(std::exchange(devices_, {}),
                                              run::FleetOptions{std::move(interrupt), least_share});
  }
  Words words(std::size_t count) { return random_.residues<std::uint32_t>(count, 1U << 31); }

  /// What passes through the fleet: the same, if all goes well.
  static Words passed(const run::Fleet& fleet, const Words& in) {
    Words out(in.size());
    fleet.stream({.memory = 8,
                  .work = [&](const backend::Queue& queue, std::size_t,
                              run::Range range) -> run::Job::Fetch {
                    auto from = queue.allocate<std::uint32_t>(range.count);
                    auto to = queue.allocate<std::uint32_t>(range.count);
                    queue.upload<std::uint32_t>({&in[range.begin], range.count}, from.slice());
                    queue.copy<std::uint32_t>(from.slice(), to.slice());
                    return [&queue, &out, to, range] {
                      queue.download<std::uint32_t>(to.slice(), {&out[range.begin], range.count});
                    };
                  }},
                 in.size());
    return out;
  }

  Random random_;
  std::vector<std::shared_ptr<const backend::Device>> devices_;
};

}  // namespace whorl::test

#include "common/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace whorl::bench {

bool Common::wants(const std::string& part) const {
  return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
}

struct CommandLine::Parser {
  CLI::App app;
  int count;
  char** arguments;
};

CommandLine::CommandLine(int count, char** arguments, const std::string& name)
    : parser_(std::make_unique<Parser>()) {
  parser_->app.name(name);
  parser_->count = count;
  parser_->arguments = arguments;
}
CommandLine::~CommandLine() = default;

template <class T>
CommandLine& CommandLine::add_any(const std::string& option, T& value, const std::string& help) {
  parser_->app.add_option(option, value, help)->capture_default_str();
  return *this;
}
CommandLine& CommandLine::add(const std::string& option, std::string& value,
                              const std::string& help) {
  return add_any(option, value, help);
}
CommandLine& CommandLine::add(const std::string& option, unsigned& value, const std::string& help) {
  return add_any(option, value, help);
}
CommandLine& CommandLine::add(const std::string& option, int& value, const std::string& help) {
  return add_any(option, value, help);
}
CommandLine& CommandLine::add(const std::string& option, std::uint64_t& value,
                              const std::string& help) {
  return add_any(option, value, help);
}
template <class T>
CommandLine& CommandLine::list_any(const std::string& option, std::vector<T>& values,
                                   const std::string& help) {
  parser_->app.add_option(option, values, help)->delimiter(',')->allow_extra_args(false);
  return *this;
}
CommandLine& CommandLine::list(const std::string& option, std::vector<std::string>& values,
                               const std::string& help) {
  return list_any(option, values, help);
}
CommandLine& CommandLine::list(const std::string& option, std::vector<std::uint64_t>& values,
                               const std::string& help) {
  return list_any(option, values, help);
}
CommandLine& CommandLine::flag(const std::string& option, bool& value, const std::string& help) {
  parser_->app.add_flag(option, value, help);
  return *this;
}
CommandLine& CommandLine::words(const std::string& name, std::vector<std::string>& values,
                                const std::vector<std::string>& allowed) {
  parser_->app.add_option(name, values)->check(CLI::IsMember(allowed));
  return *this;
}

CommandLine& CommandLine::device(Common& common) {
  return add("--device", common.device, "cpu, cuda:0, …");
}
CommandLine& CommandLine::record(Common& common) {
  return add("--record", common.record, "file to append a JSON object a line to")
      .add("--commit", common.commit, "what records call this version of the library");
}
CommandLine& CommandLine::only(Common& common) {
  return list("--only", common.only, "parts or operations, with commas between");
}
CommandLine& CommandLine::quick(Common& common) {
  return flag("--quick", common.quick, "fewer runs");
}
CommandLine& CommandLine::gpu(int& ordinal) {
  return add("--device", ordinal, "number of the GPU");
}

std::string CommandLine::help() const { return parser_->app.help(); }
void CommandLine::parse() { parser_->app.parse(parser_->count, parser_->arguments); }

int run_program(int count, char** arguments, const std::string& name,
                const std::function<int(CommandLine&)>& body) {
  try {
    CommandLine line(count, arguments, name);
    try {
      return body(line);
    } catch (const CLI::CallForHelp&) {
      std::printf("%s", line.help().c_str());
      return EXIT_SUCCESS;
    }
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s (--help says more)\n", name.c_str(), error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace whorl::bench

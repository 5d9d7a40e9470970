// Files: written whole or not at all, with the right mode, mapped without a copy.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include "io/atomic_file.h"
#include "support/forked.h"
#include "support/sanitizers.h"
#include "support/test.h"
#include "unit/io/bgv_samples.h"
#include "unit/io/expectations.h"

namespace whorl::io {
namespace {

class IoFile : public samples::BinfheFiles {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder.path()), {}));
  }
  const LoadOptions options = samples::insecure();
};

Bytes read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(IoFile, HoldsWhatDumpGives) {
  const auto keys = samples::evaluation_keys(parameters, random);
  save(folder / "keys", keys);
  EXPECT_EQ(read_all(folder / "keys"), dump(keys));
  EXPECT_EQ(files(), 1U);
}

TEST_F(IoFile, Modes) {
  const mode_t before = ::umask(0022);
  save(folder / "parameters", parameters);
  // A secret is nobody else's, even where an open file was before.
  std::ofstream(folder / "secret") << "old";
  ::chmod((folder / "secret").c_str(), 0666);
  save(folder / "secret", samples::secret_key(parameters, random), samples::passphrase);
  ::umask(before);
  EXPECT_EQ(mode_of(folder / "parameters"), 0644U);
  EXPECT_EQ(mode_of(folder / "secret"), 0600U);
  EXPECT_NO_THROW(load<binfhe::SecretKey>(folder / "secret", samples::passphrase, options));
}

TEST_F(IoFile, SecretKeysAreReplacedOnlyIfThatIsSaid) {
  const auto path = folder / "secret";
  const auto key = samples::secret_key(parameters, random);
  const auto other =
      samples::bgv_secret_key(samples::bgv_parameters(samples::bgv_literals()[0]), random);
  save(path, key, samples::passphrase);
  const Bytes before = read_all(path);
  EXPECT_EQ(test::message_of<IoError>([&] { save(path, other, samples::passphrase); }),
            path.string() +
                " holds a secret key, which is not replaced: remove the file first, or save a key "
                "with overwrite_secret=True");
  EXPECT_THROW(save(path, parameters), IoError);
  EXPECT_THROW(save(path, samples::evaluation_keys(parameters, random)), IoError);
  std::filesystem::create_symlink(path, folder / "link");
  EXPECT_THROW(save(folder / "link", parameters), IoError);
  EXPECT_EQ(read_all(path), before);
  EXPECT_EQ(files(), 2U);
  // A damaged one too may be all that is left of a key.
  std::filesystem::resize_file(path, 70);
  EXPECT_THROW(save(path, parameters), IoError);
  save(path, other, samples::passphrase, true);
  EXPECT_EQ(load<bgv::SecretKey>(path, samples::passphrase, options).key_id(), other.key_id());
  // Other files are replaced as ever.
  save(folder / "keys", parameters);
  save(folder / "keys", key, samples::passphrase);
}

TEST_F(IoFile, SecretKeysThatOthersCanReadNeedLeave) {
  const auto path = folder / "secret";
  const auto key = samples::secret_key(parameters, random);
  save(path, key, samples::passphrase);
  for (const unsigned mode : {0640U, 0604U, 0644U, 0444U, 0620U, 0602U}) {
    ::chmod(path.c_str(), mode);
    std::ostringstream octal;
    octal << std::oct << mode;
    EXPECT_EQ(test::message_of<IoError>(
                  [&] { load<binfhe::SecretKey>(path, samples::passphrase, options); }),
              path.string() + ": its mode 0" + octal.str() +
                  " lets group or others read or change this secret key; mend it with: chmod 600 " +
                  path.string() + " (allow_readable_by_others=True accepts it)");
  }
  // What it is comes first; other files are for everybody.
  EXPECT_THROW(load<bgv::SecretKey>(path, samples::passphrase, options), TypeMismatchError);
  LoadOptions knowingly = options;
  knowingly.allow_readable_by_others = true;
  EXPECT_EQ(load<binfhe::SecretKey>(path, samples::passphrase, knowingly).key_id(), key.key_id());
  EXPECT_EQ(load<binfhe::SecretKey>(read_all(path), samples::passphrase, options).key_id(),
            key.key_id());
  for (const unsigned mode : {0600U, 0400U, 0711U}) {
    ::chmod(path.c_str(), mode);
    EXPECT_NO_THROW(load<binfhe::SecretKey>(path, samples::passphrase, options)) << mode;
  }
}

TEST_F(IoFile, ReplacesTheOldFileWhole) {
  const auto path = folder / "ciphertexts";
  const auto first = samples::ciphertexts(parameters, 100, false, random);
  const auto second = samples::ciphertexts(parameters, 3, false, random);
  save(path, first);
  save(path, second);
  EXPECT_EQ(load<binfhe::Ciphertexts>(path, options).data, second.data);
  EXPECT_EQ(files(), 1U);
}

// What becomes of a file after it was loaded does not matter: not replaced, not written into, not
// cut short.
TEST_F(IoFile, ChangingALoadedFile) {
  const auto path = folder / "keys";
  const auto first = samples::evaluation_keys(parameters, random);
  const Bytes frame = dump(first);
  save(path, first);
  const auto loaded = load<binfhe::EvaluationKeys>(path, options);
  std::fstream(path, std::ios::in | std::ios::out).seekp(200) << std::string(4096, '\xff');
  EXPECT_NE(read_all(path), frame);
  EXPECT_EQ(dump(loaded), frame);
  std::filesystem::resize_file(path, 64);
  EXPECT_EQ(dump(loaded), frame);
  save(path, samples::evaluation_keys(parameters, random));
  EXPECT_EQ(dump(loaded), frame);
  save(path, loaded);
  EXPECT_EQ(read_all(path), frame);
}

// A save that is killed leaves its temporary file; the next one to the same path removes that, and
// none of a save that is under way or goes elsewhere.
TEST_F(IoFile, LeftoversGoWithTheNextSave) {
  const auto path = folder / "parameters", other = folder / "other";
  const auto killed = [&](const std::filesystem::path& at) {
    EXPECT_FALSE(test::child_succeeds([&] {
      AtomicFile file(at, 0644);
      file.write(Bytes(100));
      kill(getpid(), SIGKILL);
      return true;
    }));
  };
  killed(path);
  killed(path);
  killed(other);
  EXPECT_EQ(files(), 2U);
  AtomicFile live(path, 0644);
  EXPECT_EQ(files(), 2U) << "those of the other path, and the one under way";
  save(path, parameters);
  EXPECT_EQ(files(), 3U);
  live.write(Bytes(5, 7));
  live.commit();
  EXPECT_EQ(read_all(path), Bytes(5, 7));
  save(other, parameters);
  EXPECT_EQ(files(), 2U);
}

// Saves to one path from several threads take none of each other's files for leftovers.
TEST_F(IoFile, SavesAtOnce) {
  const auto path = folder / "parameters";
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 25; ++i) try {
            save(path, parameters);
          } catch (const Error&) {
            ++failed;
          }
      });
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(read_all(path), dump(parameters));
}

TEST_F(IoFile, FailureKeepsTheOldFile) {
  const auto path = folder / "ciphertexts";
  auto value = samples::ciphertexts(parameters, 10, false, random);
  save(path, value);
  const Bytes before = read_all(path);
  value.data[0] = 0xffffffff;
  EXPECT_THROW(save(path, value), RangeError);
  EXPECT_EQ(read_all(path), before);
  EXPECT_EQ(files(), 1U);
}

// The disk fills up half-way: a limit on the size of files does the same.
TEST_F(IoFile, FullDiskKeepsTheOldFile) {
  const auto path = folder / "keys";
  save(path, parameters);
  const Bytes before = read_all(path);
  const auto keys = samples::evaluation_keys(parameters, random);
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {10000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = test::message_of<IoError>([&] { save(path, keys); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, path.string() +
                         " cannot be written: File too large; save to another place, or allow "
                         "larger files where a limit is set (ulimit -f)");
  EXPECT_EQ(read_all(path), before);
  EXPECT_EQ(files(), 1U);
}

TEST_F(IoFile, UncommittedFileLeavesNothing) {
  {
    AtomicFile file(folder / "file", 0666);
    file.write(Bytes(1000));
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(IoFile, RefusalsNamePathAndReason) {
  const auto absent = folder / "absent";
  EXPECT_EQ(test::message_of<IoError>([&] { load<binfhe::Parameters>(absent); }),
            absent.string() + " cannot be opened: No such file or directory");
  EXPECT_EQ(test::message_of<IoError>([&] { info(absent); }),
            absent.string() + " cannot be opened: No such file or directory");
  EXPECT_EQ(test::message_of<IoError>([&] { save(absent / "file", parameters); }),
            (absent / "file").string() + " cannot be written: No such file or directory");
  EXPECT_EQ(test::message_of<IoError>([&] { load<binfhe::EvaluationKeys>(folder.path()); }),
            folder.path().string() + " cannot be read: it is not a regular file");
  EXPECT_EQ(test::message_of<IoError>([&] { save(folder.path(), parameters); }),
            folder.path().string() + " cannot be written: it is not a regular file");
  // A rename would replace a device or a pipe; reading one might never end.
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(test::message_of<IoError>([&] { load<binfhe::Lut>(pipe); }),
            pipe.string() + " cannot be read: it is not a regular file");
  EXPECT_EQ(test::message_of<IoError>([&] { save(pipe, parameters); }),
            pipe.string() + " cannot be written: it is not a regular file");
  EXPECT_EQ(files(), 1U);
}

TEST_F(IoFile, SymbolicLinksAreFollowed) {
  save(folder / "real", samples::ciphertexts(parameters, 1, false, random));
  std::filesystem::create_symlink("real", folder / "link");
  save(folder / "link", parameters);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(load<binfhe::Parameters>(folder / "real", options), parameters);
}

// What is wrong at the beginning is told only if the digest is right, as for bytes in memory.
TEST_F(IoFile, DamageGoesBeforeWhatItMakesOfTheRest) {
  const auto path = folder / "file";
  const auto check = [&]<class T>(const T& value) {
    const Bytes frame = dump(value);
    for (std::size_t at = samples::payload_at; at < frame.size(); at += 1 + random() % 7) {
      Bytes damaged = frame;
      damaged[at] ^= std::uint8_t{1} << random() % 8;
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(damaged.data()),
                 static_cast<std::streamsize>(damaged.size()));
      EXPECT_THROW(load<T>(path, options), CorruptionError) << at;
    }
    save(path, value);
    EXPECT_THROW(load<T>(path, {}), ParameterError);
    EXPECT_NO_THROW(load<T>(path, options));
  };
  check(parameters);
  check(samples::ciphertexts(parameters, 40, false, random));
  check(samples::ciphertexts(parameters, 40, true, random));
}

TEST_F(IoFile, BadFiles) {
  std::ofstream(folder / "empty").flush();
  EXPECT_THROW(load<binfhe::Parameters>(folder / "empty"), TruncatedError);
  EXPECT_THROW(info(folder / "empty"), TruncatedError);
  std::ofstream(folder / "text") << "not a frame";
  EXPECT_THROW(load<binfhe::EvaluationKeys>(folder / "text"), FormatError);
  const auto path = folder / "keys";
  save(path, samples::evaluation_keys(parameters, random));
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 1);
  EXPECT_THROW(load<binfhe::EvaluationKeys>(path, options), TruncatedError);
  std::filesystem::resize_file(path, size + 4096);
  EXPECT_THROW(load<binfhe::EvaluationKeys>(path, options), OversizedError);
  std::filesystem::resize_file(path, 64);
  EXPECT_EQ(info(path).type, FrameType::binfhe_evaluation_keys);
  EXPECT_THROW(load<binfhe::EvaluationKeys>(path, options), TruncatedError);
}

// ---- large keys

TEST_F(IoFile, KeysAreUsedWhereTheyLie) {
  const auto path = folder / "keys";
  for (const auto& literal : samples::literals()) {
    SCOPED_TRACE(literal.name);
    save(path, samples::evaluation_keys(samples::parameters(literal), random));
    const auto keys = load<binfhe::EvaluationKeys>(path, options);
    const auto* const contents = static_cast<const FileContents*>(keys.rotation_b.owner().get());
    EXPECT_EQ(keys.switch_b.owner().get(), contents);
    const auto first = reinterpret_cast<std::uintptr_t>(contents->bytes().data());
    for (const WordArray* words : {&keys.rotation_b, &keys.switch_b}) {
      const auto start = reinterpret_cast<std::uintptr_t>(words->data());
      EXPECT_GE(start, first);
      EXPECT_LE(start + words->bytes(), first + contents->bytes().size());
      EXPECT_EQ(start % 64, 0U);
    }
  }
}

/// A line of /proc/self/status, in bytes.
std::size_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

/// Makes the peak the present. Whether the system permits that.
bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << '5' << std::flush;
  return file.good();
}

// 128 MiB that are announced, and are zeros after a good beginning: none of them is kept before the
// beginning is checked.
TEST_F(IoFile, BadBeginningsTakeNoMemory) {
  if (!reset_peak()) GTEST_SKIP() << "/proc/self/clear_refs cannot be written: no peak to measure";
  constexpr std::uint64_t announced = std::uint64_t{1} << 27;
  constexpr std::size_t bound = std::size_t{32} << 20;
  const auto path = folder / "sparse";
  const auto refused = [&]<class T>(const T&, const Bytes& frame, std::size_t fields,
                                    const LoadOptions& limits) {
    Header header = decode_header(frame);
    header.payload_bytes = announced;
    const auto start = encode_header(header);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(start.data()), header_bytes);
    file.write(reinterpret_cast<const char*>(frame.data()) + header_bytes,
               static_cast<std::streamsize>(fields));
    file.close();
    std::filesystem::resize_file(path, header_bytes + announced + digest_bytes);
    ASSERT_TRUE(reset_peak());
    const std::size_t before = memory("VmRSS");
    EXPECT_THROW(load<T>(path, limits), CorruptionError);
    EXPECT_LE(memory("VmHWM"), before + bound);
  };
  const std::size_t literal = samples::literal_bytes(parameters.literal());
  const auto ciphertexts = samples::ciphertexts(parameters, 40, true, random);
  const auto keys = samples::evaluation_keys(parameters, random);
  const Bytes fresh = dump(ciphertexts);
  refused(parameters, dump(parameters), literal, options);  // more than their fields take
  refused(ciphertexts, fresh, literal, {});                 // parameters that need leave
  refused(ciphertexts, fresh, literal + 48, options);       // more than the count takes
  refused(keys, dump(keys), literal, options);              // more than the parameters take
  // Lengths that no fields have.
  refused(ciphertexts, samples::patched(fresh, header_bytes, std::uint32_t{0x0fffffff}), 4,
          options);
  refused(ciphertexts,
          samples::patched(fresh, header_bytes + literal + 48, std::uint32_t{0x0fffffff}),
          literal + 52, options);
}

// 256 MiB of blind-rotation key: saving needs no memory for it, and loading takes it once.
TEST_F(IoFile, LargeKeysAreStreamed) {
  if (test::under_thread_sanitizer)
    GTEST_SKIP() << "ThreadSanitizer's own memory grows with what is read";
  auto literal = samples::literals()[2];
  literal.n = literal.N = 2048;
  literal.gadget = {{literal.n, 25, 2}};
  const auto large = samples::parameters(literal);
  const std::size_t words = large.rotation_key_rows() * large.N();
  const std::size_t bytes = words * 8;
  ASSERT_EQ(bytes, std::size_t{256} << 20);
  // Zeros that the system keeps one page of.
  void* zeros =
      ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  ::madvise(zeros, bytes, MADV_NOHUGEPAGE);
  const std::shared_ptr<const void> owner(
      zeros, [bytes](const void* start) { ::munmap(const_cast<void*>(start), bytes); });
  const auto path = folder / "large";
  constexpr std::size_t bound = std::size_t{32} << 20;
  if (!reset_peak()) GTEST_SKIP() << "/proc/self/clear_refs cannot be written: no peak to measure";
  {
    const binfhe::EvaluationKeys keys{
        large,
        samples::random_array<16>(random),
        samples::random_array<32>(random),
        WordArray(owner, zeros, words, 8),
        samples::random_array<32>(random),
        samples::random_word_array(random, large.key_switch_rows(), 8, large.Q_ks())};
    ASSERT_TRUE(reset_peak());
    const std::size_t before = memory("VmRSS");
    save(path, keys);
    EXPECT_LE(memory("VmHWM"), before + bound);
  }
  ASSERT_GT(std::filesystem::file_size(path), bytes);
  ASSERT_TRUE(reset_peak());
  const std::size_t before = memory("VmRSS");
  const auto keys = load<binfhe::EvaluationKeys>(path, options);
  EXPECT_LE(memory("VmHWM"), before + bytes + bound);
  EXPECT_GE(memory("VmHWM"), before + bytes - bound) << "the measurement does not see it";
}

}  // namespace
}  // namespace whorl::io

// Arithmetic of Z_q[X]/(X^N + 1) by its definition, in exact integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace whorl::test {

using Int128 = __int128;

inline std::uint64_t reduce(Int128 x, std::uint64_t q) {
  const Int128 r = x % static_cast<Int128>(q);
  return static_cast<std::uint64_t>(r < 0 ? r + static_cast<Int128>(q) : r);
}
inline std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t q) {
  std::uint64_t out = 1 % q;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) out = reduce(static_cast<Int128>(out) * base, q);
    base = reduce(static_cast<Int128>(base) * base, q);
  }
  return out;
}
/// `count` elements from `begin` on.
template <class T>
std::vector<T> part(const std::vector<T>& x, std::size_t begin, std::size_t count) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

/// (-q/2, q/2]
inline std::int64_t centred(std::uint64_t x, std::uint64_t q) {
  return x > q / 2 ? static_cast<std::int64_t>(x) - static_cast<std::int64_t>(q)
                   : static_cast<std::int64_t>(x);
}

/// a·b modulo X^N + 1 over the integers; the caller keeps N·|a|·|b| below 2^126.
template <class A, class B>
std::vector<Int128> negacyclic(const std::vector<A>& a, const std::vector<B>& b) {
  const std::size_t N = a.size();
  std::vector<Int128> out(N, 0);
  for (std::size_t i = 0; i < N; ++i) {
    if (a[i] == 0) continue;
    const Int128 x = static_cast<Int128>(a[i]);
    for (std::size_t j = 0; j < N - i; ++j) out[i + j] += x * static_cast<Int128>(b[j]);
    for (std::size_t j = N - i; j < N; ++j) out[i + j - N] -= x * static_cast<Int128>(b[j]);
  }
  return out;
}
template <class A, class B>
std::vector<std::uint64_t> negacyclic(const std::vector<A>& a, const std::vector<B>& b,
                                      std::uint64_t q) {
  const std::vector<Int128> product = negacyclic(a, b);
  std::vector<std::uint64_t> out(product.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = reduce(product[j], q);
  return out;
}

/// X^e·a, 0 <= e < 2N.
template <class T>
std::vector<std::uint64_t> times_monomial(const std::vector<T>& a, std::uint64_t e,
                                          std::uint64_t q) {
  const std::size_t N = a.size();
  std::vector<std::uint64_t> out(N);
  for (std::size_t j = 0; j < N; ++j) {
    const std::uint64_t to = (j + e) % (2 * N);
    out[to % N] = to < N ? a[j] : (q - a[j]) % q;
  }
  return out;
}

/// a(x) modulo q.
template <class T>
std::uint64_t evaluate(const T* a, std::size_t N, std::uint64_t x, std::uint64_t q) {
  std::uint64_t sum = 0;
  for (std::size_t j = N; j-- > 0;) sum = reduce(static_cast<Int128>(sum) * x + a[j], q);
  return sum;
}

}  // namespace whorl::test

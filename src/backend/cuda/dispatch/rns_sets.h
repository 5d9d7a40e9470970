// The RNS operations of rns.h for any bases. They take more launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cuda/dispatch/rns.h"

namespace whorl::backend::cuda {

template <class Word>
struct InnerAddend;

template <class Word>
void extend_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                 const Extension& extension, std::size_t batch, const Word* in, Word* out);
template <class Word>
void inner_product_sets(const Stream& stream, const CudaRnsTables<Word>& tables,
                        const CudaRnsSwitchKey<Word>& key, const InnerProduct& product,
                        std::size_t batch, const Word* digits, const InnerAddend<Word>& added,
                        Word* out);
template <class Word>
void divide_sets(const Stream& stream, const CudaRnsTables<Word>& tables, const Division& division,
                 std::size_t parts, std::size_t batch, const Word* in, std::span<const Word> added,
                 std::uint32_t g, Word* out);

}  // namespace whorl::backend::cuda

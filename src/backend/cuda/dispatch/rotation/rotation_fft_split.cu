#include "backend/cuda/dispatch/rotation/rotation_fft_split.h"

#include "backend/cuda/dispatch/transforms/group_fft_tables.h"

namespace whorl::backend::cuda {

SplitTables split_tables(const Stream& stream, std::uint32_t N) {
  SplitTables out;
  with_fft_shape(N, [&]<class KeyShape, class ClusterShape>() {
    using Shapes = SplitShapes<KeyShape::log_m>;
    if constexpr (Shapes::exist) {
      const ring::FftPlan quarter(N / 4);
      const auto forward = group_fft_tables<typename Shapes::Forward>(quarter);
      out.forward = stream.upload(forward.data(), forward.size());
      const auto back = group_fft_tables<typename Shapes::Back>(quarter);
      out.back = stream.upload(back.data(), back.size());
    }
  });
  return out;
}

}  // namespace whorl::backend::cuda

"""The backend of the package `whorl` for NVIDIA GPUs, which finds it here by itself."""

import os

library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libwhorl_cuda.so")

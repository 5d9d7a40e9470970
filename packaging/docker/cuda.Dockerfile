# Whorl for NVIDIA GPUs, from the wheels of `make wheel` and `tools/wheel/build.sh cuda13`. The
# runtime of CUDA is inside the wheel; the driver comes from the host (docker run --gpus all).
FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN --mount=type=bind,source=build/wheels,target=/wheels \
  pip install --no-cache-dir --find-links /wheels "$(ls /wheels/whorl_fhe-*.whl)[cuda13]"
ENTRYPOINT ["whorl"]
CMD ["doctor"]

# Whorl for NVIDIA GPUs, from the wheels of `make wheel` and `tools/wheel/build.sh cuda13`. The
# runtime of CUDA is inside the wheel; the driver comes from the host (docker run --gpus all).
FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY build/wheels /wheels
RUN pip install --no-cache-dir --find-links /wheels "whorl-fhe[cuda13]" && rm -r /wheels
ENTRYPOINT ["whorl"]
CMD ["doctor"]

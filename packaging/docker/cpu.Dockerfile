# Whorl for CPUs, from the wheels of `make wheel`: docker build -f packaging/docker/cpu.Dockerfile .
FROM python:3.12-slim
RUN --mount=type=bind,source=build/wheels,target=/wheels \
  pip install --no-cache-dir --find-links /wheels /wheels/whorl_fhe-*.whl
ENTRYPOINT ["whorl"]
CMD ["doctor"]

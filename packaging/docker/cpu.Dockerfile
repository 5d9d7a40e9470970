# Whorl for CPUs, from the wheels of `make wheel`: docker build -f packaging/docker/cpu.Dockerfile .
FROM python:3.12-slim
COPY build/wheels /wheels
RUN pip install --no-cache-dir --find-links /wheels whorl-fhe && rm -r /wheels
ENTRYPOINT ["whorl"]
CMD ["doctor"]

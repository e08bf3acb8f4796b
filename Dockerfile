# One image for the API, the workers and Flower: `docker build -t stoker .`
#
# The engine in the image computes on the CPU. For a GPU mount a llama-server built for CUDA and set its path in
# local.json (llama_server_binary).
#
# PYTHON_IMAGE may name the base image by its digest: `--build-arg PYTHON_IMAGE=python:3.12-slim@sha256:...`.

ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE} AS build
COPY requirements.lock /
RUN sed '/^# only to work on the project/,$d' /requirements.lock > /platform.lock \
    && python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /platform.lock

FROM ${PYTHON_IMAGE}
# A further port for metrics (METRICS_PORT) is reached from outside. Before its socket closes the API takes requests for
# 5 s more, until load balancers have noticed.
# HOME is on the data volume, because libraries write compiled kernels and downloaded models there and the user
# can write to no other folder. uv and pip use no cache, which would hold a second copy of each installed package
ENV PATH=/venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    STOKER_DATA_DIR=/data \
    STOKER_METRICS__HOST=0.0.0.0 \
    STOKER_API__DRAIN_DELAY_S=5 \
    HOME=/data \
    UV_NO_CACHE=1 \
    PIP_NO_CACHE_DIR=1 \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=build /venv /venv
COPY . /app
WORKDIR /app
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin stoker \
    && install --directory --owner=stoker --group=stoker --mode=0700 /data
USER 10001:10001
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["python", "-m", "stoker"]
CMD ["api"]

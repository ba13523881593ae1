# Seamark's image: every program of it (control plane, agent, forwarder, edge, console) is a command of one entry point.
#
#   docker build --build-arg PYTHON_DIGEST=sha256:... -t registry.example.com/seamark:0.1.0 .
#
# PYTHON_DIGEST is the digest of docker.io/library/python:3.13-slim that you trust, as in
# `docker buildx imagetools inspect python:3.13-slim`. There is no default: a tag could mean another image tomorrow.
# Packages are those of requirements/run.lock, each checked by its hash.

ARG PYTHON_DIGEST

FROM docker.io/library/python@${PYTHON_DIGEST:?give_it_with_--build-arg_PYTHON_DIGEST=sha256:...} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/run.lock /build/run.lock
RUN python -m venv /opt/seamark/venv \
 && /opt/seamark/venv/bin/pip install --require-hashes --only-binary=:all: --no-deps -r /build/run.lock \
 && /opt/seamark/venv/bin/pip uninstall --yes pip
COPY packages/runtime/src /opt/seamark/lib
COPY packages/edge/src /opt/seamark/lib
COPY packages/operator/src /opt/seamark/lib
# The Gateway API's kinds, as published and checked by their checksum, so that installing them needs no internet.
ENV PYTHONPATH=/opt/seamark/lib XDG_CACHE_HOME=/opt/seamark/cache
RUN /opt/seamark/venv/bin/python -m compileall -q /opt/seamark/lib /opt/seamark/venv \
 && /opt/seamark/venv/bin/python -m seamark gateway crds > /dev/null

FROM docker.io/library/python@${PYTHON_DIGEST}
LABEL org.opencontainers.image.title="seamark" \
      org.opencontainers.image.description="Endpoints that tell the truth" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/seamark /opt/seamark
ENV PATH=/opt/seamark/venv/bin:$PATH PYTHONPATH=/opt/seamark/lib XDG_CACHE_HOME=/opt/seamark/cache \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "seamark"]
CMD ["--help"]

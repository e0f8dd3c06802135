# The image that `make image` builds, for those who have a container engine: the same script makes the same directories.
FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends binutils ca-certificates python3-pip
WORKDIR /source
COPY LICENSE ./
COPY requirements/ requirements/
COPY scripts/image/ scripts/image/
COPY src/ src/
RUN scripts/image/make-root /image

FROM scratch
COPY --from=build /image/base/ /
COPY --from=build /image/wheels/ /
COPY --from=build /image/product/usr/ /usr/
COPY --from=build --chown=65532:65532 /image/product/workspace/ /workspace/
COPY --from=build --chown=65532:65532 /image/product/home/jangar/ /home/jangar/
ENV PATH=/usr/local/bin:/usr/bin:/bin \
    HOME=/home/jangar \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
LABEL org.opencontainers.image.title=jangar \
      org.opencontainers.image.licenses=Apache-2.0
USER 65532:65532
WORKDIR /workspace
ENTRYPOINT ["jangar"]

# The server's image, made in one of two ways:
#
#   docker build -f docker/server.Dockerfile -t plumbkv .            from a clone; the first stage compiles
#   docker build -f docker/server.Dockerfile --target prebuilt DIR   from DIR/plumbkv, a static binary
#
# The second way pulls nothing, so the benchmark runner uses it, and what runs in its containers is the very file
# that runs natively. `prebuilt` stands first because some builders carry out every stage before the one they
# are asked for. Both images hold one file, run as nobody, and keep protected mode: with the port published, set
# PLUMBKV_PASSWORD.

FROM scratch AS prebuilt
COPY plumbkv /plumbkv
LABEL org.opencontainers.image.title="PlumbKV" \
      org.opencontainers.image.description="A key-value server that speaks Redis's protocol under a hard memory cap" \
      org.opencontainers.image.source="https://github.com/plumbkv/plumbkv" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
USER 65532:65532
EXPOSE 6379
HEALTHCHECK --interval=10s --timeout=2s --start-period=2s CMD ["/plumbkv", "cli", "ping"]
ENTRYPOINT ["/plumbkv"]
CMD ["serve", "--listen", "0.0.0.0:6379"]

FROM docker.io/library/rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# Leaves the static docker/build/plumbkv.
RUN make image-binary

FROM scratch AS server
COPY --from=build /src/docker/build/plumbkv /plumbkv
LABEL org.opencontainers.image.title="PlumbKV" \
      org.opencontainers.image.description="A key-value server that speaks Redis's protocol under a hard memory cap" \
      org.opencontainers.image.source="https://github.com/plumbkv/plumbkv" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
USER 65532:65532
EXPOSE 6379
HEALTHCHECK --interval=10s --timeout=2s --start-period=2s CMD ["/plumbkv", "cli", "ping"]
ENTRYPOINT ["/plumbkv"]
CMD ["serve", "--listen", "0.0.0.0:6379"]

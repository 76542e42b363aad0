# The same Node as package.json pins for Linux.
ARG NODE_IMAGE=node:26.12-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs a script of its own, so none runs.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && chmod +x dist/main.js

# Optional dependencies are the development runtime: the image brings its own Node.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev --omit=optional

# What V8 compiles of it is kept, so that no start and no command has to do that again. Node looks in a folder for this user, who may
# read it and cannot change it in the image.
FROM ${NODE_IMAGE} AS compiled
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
RUN mkdir node_modules/.cache && chown node:node node_modules/.cache
USER node
RUN NODE_COMPILE_CACHE=node_modules/.cache/gatehouse node dist/commands/keep-compiled.js && \
  chmod -R a+rX node_modules/.cache

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
# Where the commands look, too: `gatehouse keys list` in the running container.
ENV GATEHOUSE_CONFIG=/etc/gatehouse/gateway.yaml
WORKDIR /app
RUN mkdir data && chown node:node data && ln -s /app/dist/main.js /usr/local/bin/gatehouse
# From a stage files come with their owner, and what the gateway runs must not be its own to change.
COPY --from=compiled --chown=root:root /app ./
# The embedded store, and the only place that is written to: the root file system may be read-only.
VOLUME /app/data
USER node
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9090/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No shell in between, so that SIGTERM reaches Node and the gateway drains.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve", "--config", "/etc/gatehouse/gateway.yaml"]

# The example server, on PostgreSQL with compose.yaml, or on SQLite alone: docker run -p 3000:3000 -v data:/home/node/data …
FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY lib lib
COPY examples examples
RUN npm run build

# The library alone needs less: what the server imports is moved to the dependencies, at the versions of the lock file.
FROM node:22-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN node -e "const p = require('./package.json'); for (const name of ['fastify', '@fastify/swagger', '@fastify/swagger-ui', 'pg']) p.dependencies[name] = p.devDependencies[name]; delete p.devDependencies; fs.writeFileSync('package.json', JSON.stringify(p))"
RUN npm install --ignore-scripts --no-audit --no-fund

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 STORAGE=sqlite:/home/node/data/dealbook.db
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/package.json ./
COPY --from=build /app/build/lib build/lib
COPY --from=build /app/build/examples build/examples
USER node
RUN mkdir /home/node/data
VOLUME /home/node/data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Not by npm, which would take the signal to stop.
CMD ["node", "build/examples/server.js"]
